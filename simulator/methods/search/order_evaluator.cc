#include "simulator/methods/search/order_evaluator.h"

#include <limits>

#include "simulator/methods/disciplines.h"

namespace emplace {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
// The makespan that a dispatch estimates may be too long by as much. The estimate is close unless senders share links,
// as in a topology.
double ToleranceOf(LinkModel links) { return links == LinkModel::kTopology ? 1.02 : 1.001; }

}  // namespace

OrderEvaluator::OrderEvaluator(const ScheduleGraph& graph)
    : graph_(graph), tolerance_(ToleranceOf(graph.task().sim.link_model)), dispatcher_(graph), scorer_(graph.task()) {}

SearchScore OrderEvaluator::SetBase(std::span<const DeviceIndex> placement) {
  SetBase(placement, {});
  base_score_ = *ScoreOfPlacement(kNoLimit);
  return base_score_;
}

void OrderEvaluator::SetBase(std::span<const DeviceIndex> placement, const SearchScore& score) {
  placement_.assign(placement.begin(), placement.end());
  base_score_ = score;
}

std::optional<SearchScore> OrderEvaluator::Try(const Move& move, double limit_us) {
  undo_.clear();
  for (const OpMove& to : move) {
    DeviceIndex& device = placement_[static_cast<size_t>(to.op)];
    undo_.push_back({to.op, device});
    device = to.device;
  }
  // What lacks less memory is taken with any makespan.
  const std::optional<SearchScore> score = ScoreOfPlacement(base_score_.bytes_over == 0 ? limit_us : kNoLimit);
  for (const OpMove& back : undo_) placement_[static_cast<size_t>(back.op)] = back.device;
  return score && MayTake(*score, base_score_, limit_us) ? score : std::nullopt;
}

std::optional<SearchScore> OrderEvaluator::ScoreOfPlacement(double limit_us) {
  const double most_us = tolerance_ * limit_us;
  if (dispatcher_.Run(placement_, LongestWayFirst(graph_, placement_), most_us) > most_us) return std::nullopt;
  scorer_.SetOrders(dispatcher_.orders());
  return scorer_.Score(placement_);
}

}  // namespace emplace
