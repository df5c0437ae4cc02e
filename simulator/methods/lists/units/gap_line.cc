#include "simulator/methods/lists/units/gap_line.h"

#include <algorithm>

namespace emplace {

std::vector<GapLine::Block>::const_iterator GapLine::EndingAfter(double us) const {
  if (blocks_.empty() || blocks_.back().end_us <= us) return blocks_.end();  // As in most calls.
  return std::ranges::upper_bound(blocks_, us, {}, &Block::end_us);
}

double GapLine::EarliestStartUs(double ready_us, double duration_us) const {
  if (duration_us <= 0) return ready_us;
  double start_us = ready_us;
  for (auto block = EndingAfter(start_us); block != blocks_.end() && block->start_us < start_us + duration_us; ++block)
    start_us = std::max(start_us, block->end_us);
  return start_us;
}

void GapLine::Add(double start_us, double end_us) {
  if (end_us <= start_us) return;
  const auto next = blocks_.begin() + (EndingAfter(start_us) - blocks_.cbegin());
  const bool joins_next = next != blocks_.end() && next->start_us <= end_us;
  const bool joins_previous = next != blocks_.begin() && std::prev(next)->end_us >= start_us;
  if (joins_previous && joins_next) {
    std::prev(next)->end_us = next->end_us;
    blocks_.erase(next);
  } else if (joins_previous) {
    std::prev(next)->end_us = end_us;
  } else if (joins_next) {
    next->start_us = start_us;
  } else {
    blocks_.insert(next, {start_us, end_us});
  }
}

}  // namespace emplace
