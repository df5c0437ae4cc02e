// The one source of randomness: a seeded, splittable generator (xoshiro256++ of Blackman and Vigna, seeded by
// SplitMix64). The standard's distributions differ between libraries; the ones here do not, so a seed means the same
// everywhere. Not thread-safe: give each user its own Fork.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

namespace emplace {

class Rng {
 public:
  using State = std::array<uint64_t, 4>;

  explicit Rng(uint64_t seed);

  // An independent stream for a purpose and an index. It is the same whatever has been drawn from this generator.
  Rng Fork(std::string_view purpose, uint64_t index = 0) const;

  uint64_t Next();                                // Uniform over all 64-bit values.
  double Uniform();                               // [0, 1), 53 bits.
  double Uniform(double low, double high);        // [low, high).
  int64_t UniformInt(int64_t low, int64_t high);  // [low, high], both ends included, without modulo bias.
  size_t Index(size_t count);                     // Below count, each index as likely. REQUIRES: count > 0.
  double Normal();                                // Mean 0, variance 1 (Box-Muller).
  // An index with probability weights[i] / sum. REQUIRES: some weight > 0, none negative.
  size_t Categorical(std::span<const double> weights);

  // A checkpoint saves the state and the seed.
  const State& state() const { return state_; }
  uint64_t seed() const { return seed_; }
  static Rng FromState(uint64_t seed, const State& state);

 private:
  uint64_t seed_;  // Fork derives its streams from the seed.
  State state_;
};

// An element of the list, each as likely. REQUIRES: it has some.
template <typename List>
const auto& OneOf(Rng& rng, const List& list) {
  return list[rng.Index(std::size(list))];
}

// Puts the list into a random order, each as likely (Fisher-Yates).
template <typename List>
void Shuffle(Rng& rng, List& list) {
  for (size_t i = std::size(list); i > 1; --i) std::swap(list[i - 1], list[rng.Index(i)]);
}

// A number that nobody can foresee, from the operating system.
uint64_t UnforeseenNumber();

}  // namespace emplace
