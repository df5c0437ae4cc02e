// The sizes that a family varies from graph to graph: named whole numbers, each drawn uniformly from a range.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "common/rng.h"

namespace emplace {

struct IntRange {
  int64_t low = 1;
  int64_t high = 1;
  int64_t multiple = 1;  // Only multiples of this number are drawn; low and high can be drawn too.
};

class Ranges {
 public:
  explicit Ranges(std::map<std::string, IntRange> ranges) : ranges_(std::move(ranges)) {}

  // Replaces a range by "steps=10..20" or "steps=10". Throws BadInput for an unknown name, a text that is no range, a
  // range that ends below its start or begins below 1, and a range without a multiple of IntRange::multiple.
  void Override(const std::string& text);

  // REQUIRES: the name is known.
  int64_t Draw(const std::string& name, Rng& rng) const;
  const std::map<std::string, IntRange>& ranges() const { return ranges_; }

 private:
  std::map<std::string, IntRange> ranges_;
};

}  // namespace emplace
