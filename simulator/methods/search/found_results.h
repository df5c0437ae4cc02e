// What a search has found so far.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "simulator/graph/device_order.h"
#include "simulator/methods/lists/disciplines.h"
#include "simulator/methods/lists/list_schedule.h"
#include "simulator/methods/placement_method.h"
#include "simulator/methods/search/portfolio.h"
#include "simulator/methods/search/walks.h"
#include "simulator/methods/search_limit.h"

namespace emplace {

// Of the budget's last evaluations so many are kept to score what a walk has found.
inline constexpr int64_t kRunsToKeepFound = 2;

// A placement with an order of its ops.
struct OrderedEntry {
  PortfolioEntry entry;  // Its score is with the order.
  DeviceOrders orders;
  std::string discipline;
};

OrderedEntry WithOrder(const PortfolioEntry& entry, ChosenOrder order);

// The best result, and the best placements to go on from: without an order, and with one. Where an order is asked for
// (MethodOptions::order), results are compared, and kept, in that one. Not thread-safe.
class FoundResults {
 public:
  // graph: by which ops are ordered; set before something is kept, where an order is asked for. REQUIRES: all outlive
  // this.
  FoundResults(const MethodOptions& options, SearchLimit& limit, const std::optional<ScheduleGraph>& graph)
      : options_(options), limit_(limit), graph_(graph) {}

  // A start is kept to go on from, a result if it is the best.
  void KeepUnorderedStart(const PortfolioEntry& entry);
  void KeepOrderedStart(WalkResult found);
  // Both: an entry without an order.
  void Add(const PortfolioEntry& entry);
  void Keep(const OrderedEntry& found);
  // Keeps an entry if it is the best in the order that is asked for. What a budget has cut short does not count: with a
  // larger one it may have become another, which is worse in this order.
  void KeepAsAsked(const PortfolioEntry& entry);

  const std::optional<PortfolioEntry>& unordered() const { return unordered_; }
  const std::optional<WalkResult>& ordered() const { return ordered_; }
  const SearchScore& score() const { return score_; }  // Of the result.
  const MethodResult& result() const { return result_; }

 private:
  bool InOrderAsked() const { return !options_.order.empty(); }
  // Whether another placement may be tried in the order that is asked for. An interrupted search ends at once.
  bool HasTimeToAsk() const;
  void Take(const OrderedEntry& found);

  const MethodOptions& options_;
  SearchLimit& limit_;
  const std::optional<ScheduleGraph>& graph_;
  std::optional<PortfolioEntry> unordered_;
  std::optional<WalkResult> ordered_;
  MethodResult result_;
  SearchScore score_;
  Placement asked_last_;  // That KeepAsAsked has looked at.
};

}  // namespace emplace
