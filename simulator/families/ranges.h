// What a family varies from graph to graph: named whole numbers, each drawn uniformly from a range.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "common/rng.h"

namespace emplace {

struct IntRange {
  int64_t low = 1;
  int64_t high = 1;
  int64_t multiple = 1;  // Only multiples of this are drawn; both ends are.
};

class Ranges {
 public:
  explicit Ranges(std::map<std::string, IntRange> ranges) : ranges_(std::move(ranges)) {}

  // "steps=10..20", or "steps=10". Throws BadInput for an unknown name, what is no range, one the wrong way round, one
  // that begins below 1, or one without a multiple in it.
  void Override(const std::string& text);

  // REQUIRES: the name is known.
  int64_t Draw(const std::string& name, Rng& rng) const;
  const std::map<std::string, IntRange>& ranges() const { return ranges_; }

 private:
  std::map<std::string, IntRange> ranges_;
};

}  // namespace emplace
