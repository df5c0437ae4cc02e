#include "simulator/methods/search/found_results.h"

#include <utility>

namespace emplace {
namespace {

// In larger graphs an order takes a tenth of a second.
constexpr int32_t kMostOpsToAskAtEnd = 20'000;

}  // namespace

OrderedEntry WithOrder(const PortfolioEntry& entry, ChosenOrder order) {
  return {{entry.found_by, entry.placement, order.score}, std::move(order.orders), std::move(order.discipline)};
}

void FoundResults::KeepUnorderedStart(const PortfolioEntry& entry) {
  if (!unordered_ || entry.score < unordered_->score) unordered_ = entry;
}

void FoundResults::KeepOrderedStart(WalkResult found) {
  if (!ordered_ || found.entry.score < ordered_->entry.score) ordered_ = std::move(found);
}

void FoundResults::Add(const PortfolioEntry& entry) {
  KeepUnorderedStart(entry);
  Keep({entry, {}, ""});
}

void FoundResults::Keep(const OrderedEntry& found) {
  if (InOrderAsked()) return KeepAsAsked(found.entry);
  if (!result_.placement || found.entry.score < score_) Take(found);
}

void FoundResults::KeepAsAsked(const PortfolioEntry& entry) {
  const bool first = !result_.placement;
  if (!first && (entry.placement == asked_last_ || (options_.budget > 0 && limit_.Ended()) || !HasTimeToAsk())) return;
  const int64_t runs = RunsToFindOrder(options_.order);
  if (!first) {  // Else it was counted in the portfolio.
    if (!limit_.Affords(runs, kRunsToKeepFound)) return;
    limit_.Count(runs);
  }
  asked_last_ = entry.placement;
  const OrderedEntry found =
      WithOrder(entry, entry.asked ? entry.asked_order : OrderNamed(options_.order, *graph_, entry.placement));
  if (first || found.entry.score < score_) Take(found);
}

bool FoundResults::HasTimeToAsk() const {
  return limit_.stopped() ? graph_->task().sim.num_ops <= kMostOpsToAskAtEnd : !graph_->stop().Now();
}

void FoundResults::Take(const OrderedEntry& found) {
  score_ = found.entry.score;
  result_.placement = found.entry.placement;
  result_.found_by = found.entry.found_by;
  result_.orders = found.orders;
  result_.discipline = found.discipline;
}

}  // namespace emplace
