#include "simulator/graph/search_levels.h"

#include <algorithm>
#include <utility>

namespace emplace {

SearchLevels::SearchLevels(std::vector<std::vector<GroupIndex>> levels)
    : finest_(levels.front()), levels_(std::move(levels)) {}

SearchLevels::SearchLevels(std::vector<GroupIndex> first, std::vector<GroupIndex> second, UnitMerger merger,
                           int32_t fewest)
    : finest_(std::move(first)), fewest_(fewest), merger_(std::move(merger)), levels_({finest_, std::move(second)}) {}

bool SearchLevels::AllMade() const {
  const MutexLock lock(mu_);
  return !merger_;
}

const std::vector<std::vector<GroupIndex>>& SearchLevels::All(const StopSignal& stop) const {
  const MutexLock lock(mu_);
  while (merger_ && merger_->groups_left() >= 2 * fewest_ && !stop.Now()) {
    const int32_t most = std::max(fewest_, merger_->groups_left() / 2);
    merger_->MergeDown(most, stop);
    if (merger_->groups_left() > most) break;  // `allowed` forbids every further merge, or there is no time for it.
    levels_.push_back(merger_->GroupOfOp());
  }
  merger_.reset();
  return levels_;
}

}  // namespace emplace
