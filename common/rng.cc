#include "common/rng.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <random>

#include "common/error.h"

namespace emplace {
namespace {

uint64_t SplitMix(uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Rng::Rng(uint64_t seed) : seed_(seed) {
  uint64_t mix = seed;
  for (uint64_t& word : state_) word = SplitMix(mix);
}

Rng Rng::FromState(uint64_t seed, const State& state) {
  Rng rng(seed);
  rng.state_ = state;
  return rng;
}

Rng Rng::Fork(std::string_view purpose, uint64_t index) const {
  uint64_t mix = seed_;
  uint64_t derived = SplitMix(mix);
  for (const char c : purpose) {
    mix ^= static_cast<unsigned char>(c);
    derived ^= SplitMix(mix);
  }
  mix ^= index;
  derived ^= SplitMix(mix);
  return Rng(derived);
}

uint64_t Rng::Next() {
  const uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Rng::Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

double Rng::Uniform(double low, double high) { return low + (high - low) * Uniform(); }

int64_t Rng::UniformInt(int64_t low, int64_t high) {
  EMPLACE_CHECK(low <= high);
  const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  if (span == 0) return static_cast<int64_t>(Next());
  const uint64_t limit = -span % span;  // Values below it would be drawn once too often.
  uint64_t draw = Next();
  while (draw < limit) draw = Next();
  return static_cast<int64_t>(static_cast<uint64_t>(low) + draw % span);
}

size_t Rng::Index(size_t count) { return static_cast<size_t>(UniformInt(0, static_cast<int64_t>(count) - 1)); }

double Rng::Normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - Uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * Uniform());
}

size_t Rng::Categorical(std::span<const double> weights) {
  double total = 0;
  for (const double weight : weights) total += weight;
  EMPLACE_CHECK(total > 0);
  double left = Uniform() * total;
  size_t last_possible = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    last_possible = i;
    left -= weights[i];
    if (left < 0) return i;
  }
  return last_possible;  // Rounding left a sliver past the last weight.
}

uint64_t UnforeseenNumber() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace emplace
