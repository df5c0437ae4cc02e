// Sets of places [0, n), each of which gives its least place. A set is one bit for each place; over each 64 bits there
// is one bit that says whether any of them is set, and over each 64 of those one more. So adding a place, and taking
// the least one, touch three words, and nothing allocates after construction.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace emplace {

class PlaceSets {
 public:
  PlaceSets(size_t sets, size_t places)
      : middle_(Words(places)),
        top_(middle_ + Words(middle_)),
        words_in_set_(top_ + Words(top_ - middle_)),
        words_(sets * words_in_set_) {}

  void Clear() { words_.assign(words_.size(), 0); }
  bool Empty(size_t set) const {
    for (size_t word = top_; word < words_in_set_; ++word) {
      if (words_[set * words_in_set_ + word] != 0) return false;
    }
    return true;
  }
  void Add(size_t set, size_t place) {
    uint64_t* const words = words_.data() + set * words_in_set_;
    if (SetBit(words, place)) return;
    if (SetBit(words + middle_, place / kBits)) return;
    SetBit(words + top_, place / kBits / kBits);
  }
  // Removes the least place and returns it. REQUIRES: the set is not empty.
  size_t TakeLeast(size_t set) {
    uint64_t* const words = words_.data() + set * words_in_set_;
    size_t word = 0;
    while (words[top_ + word] == 0) ++word;
    const size_t in_middle = Least(words + top_, word);
    const size_t in_places = Least(words + middle_, in_middle);
    const size_t place = Least(words, in_places);
    if (ClearLeastBit(words[in_places]) && ClearLeastBit(words[middle_ + in_middle])) ClearLeastBit(words[top_ + word]);
    return place;
  }

  // Calls visit(span) for all data that changes.
  template <typename Visit>
  void VisitState(Visit&& visit) {
    visit(std::span(words_));
  }

 private:
  static constexpr size_t kBits = 64;

  static size_t Words(size_t bits) { return (bits + kBits - 1) / kBits; }
  // Returns whether another bit of its word was set.
  static bool SetBit(uint64_t* words, size_t bit) {
    uint64_t& word = words[bit / kBits];
    const bool others = word != 0;
    word |= uint64_t{1} << bit % kBits;
    return others;
  }
  static size_t Least(const uint64_t* words, size_t word) {
    return word * kBits + static_cast<size_t>(std::countr_zero(words[word]));
  }
  // Returns whether no bit is left.
  static bool ClearLeastBit(uint64_t& word) { return (word &= word - 1) == 0; }

  // First words of the two upper levels in a set. The lowest level begins at 0.
  size_t middle_;
  size_t top_;
  size_t words_in_set_;
  std::vector<uint64_t> words_;  // [sets * words_in_set_]
};

}  // namespace emplace
