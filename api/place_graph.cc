#include "api/place_graph.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/error_place.h"
#include "common/strings.h"
#include "simulator/graph/device_costs.h"
#include "simulator/methods/exact/lower_bound.h"
#include "simulator/methods/lists/disciplines.h"

namespace emplace {
namespace {

// Shares of a search's time that grouping the ops may take, and that with the lower bound.
constexpr double kMostShareToGroup = 0.3;
constexpr double kMostShareToPrepare = 0.4;
// Share of a search's time that is left at most to order what it has found.
constexpr double kMostShareToOrder = 0.5;
// A search ends when it is above the bound by this share at most.
constexpr double kAtBound = 1e-6;

// What the op needs on its device: an op that takes no time holds nothing but its parameters, since memory is released
// before it is taken, and only the published rule counts both.
double LeastBytes(const Op& op, double cost_us, MemoryRule rule) {
  return static_cast<double>(cost_us > 0 || rule == MemoryRule::kPlaceto ? op.AllBytes() : op.param_bytes);
}

// Throws BadInput where no placement can fit.
void CheckMemory(const OpGraph& graph, const Cluster& cluster) {
  double resident_bytes = 0;
  double memory_bytes = 0;
  DeviceCosts costs(cluster);
  for (const Device& device : cluster.devices) memory_bytes += static_cast<double>(device.memory_bytes);
  for (const Op& op : graph.ops()) {
    resident_bytes += static_cast<double>(op.param_bytes);
    double bytes = 0;
    double most_bytes = 0;
    bool fits = false;
    const std::span<const double> cost_us = costs.Of(op);
    for (size_t d = 0; d < cost_us.size(); ++d) {
      if (!MayRunAt(cost_us[d])) continue;
      const auto room_bytes = static_cast<double>(cluster.devices[d].memory_bytes);
      bytes = LeastBytes(op, cost_us[d], cluster.memory_rule);
      fits = fits || bytes <= room_bytes;
      most_bytes = std::max(most_bytes, room_bytes);
    }
    if (fits) continue;
    throw BadInput(StrCat("op '", op.name, "' needs ", ShownBytes(bytes), ", expected at most ", ShownBytes(most_bytes),
                          ", the most that a device which may run it has"));
  }
  if (resident_bytes <= memory_bytes) return;
  throw BadInput(StrCat("what '", graph.name(), "' holds for the whole step (parameters, inputs) needs ",
                        ShownBytes(resident_bytes), ", expected at most ", ShownBytes(memory_bytes),
                        ", what all devices have together"));
}

}  // namespace

std::string ShownBytes(double bytes) {
  return bytes < 1e6 ? Format("%.0f bytes", bytes) : Format("%.3f GB", bytes / 1e9);
}

std::vector<std::string> OrdersToAskFor() {
  std::vector<std::string> orders = OrderNames();
  orders.insert(orders.begin(), kNoOrder);
  return orders;
}

void AskForOrder(const std::string& said, MethodOptions& options) {
  const std::vector<std::string> orders = OrdersToAskFor();
  if (!said.empty() && std::ranges::find(orders, said) == orders.end())
    throw BadInput(StrCat("unknown order '", said, "', expected one of: ", Join(orders, ", ")));
  options.order = said == kNoOrder ? "" : said;
  options.orders = said != kNoOrder && said != "arrival";  // By arrival placements run as without an order.
}

PlacedGraph PlaceGraph(const OpGraph& graph, const Cluster& cluster, const PlaceRequest& request,
                       const MethodOptions& options) {
  MethodOptions timed = options;
  timed.begin = StopSignal::Clock::now();
  double bound_us = 0;
  std::atomic<bool> at_bound = false;
  double limit_s = 0;  // 0: none
  timed.stop = StopSignal([&] {
    const bool out_of_time =
        limit_s > 0 && StopSignal::Clock::now() - *timed.begin >= std::chrono::duration<double>(limit_s);
    return out_of_time || at_bound.load(std::memory_order_relaxed) || options.stop.Now();
  });
  timed.progress = [&](const SearchProgress& progress) {
    if (options.progress) options.progress(progress);
    if (progress.fits && progress.best_us <= (1 + kAtBound) * bound_us) at_bound = true;
  };
  std::unique_ptr<PlacementMethod> method = MakeMethod(request.method, timed);
  const double seconds = method->searches() ? options.seconds : 0;
  // A search ends itself in time, with the best so far.
  if (!method->searches() && request.ends_any_method) limit_s = options.seconds;
  PlacedGraph placed;
  placed.task = WithPlace(StrCat(request.graph_source, " on ", request.devices_source), [&] {
    CheckKinds(graph, cluster);
    CheckMemory(graph, cluster);
    return PlacementTask::Make(graph, cluster, request.max_groups,
                               options.stop.After(*timed.begin, kMostShareToGroup * seconds), method->places_groups());
  });
  placed.lower_bound_us =
      LowerBoundUs(placed.task.sim, options.stop.After(*timed.begin, kMostShareToPrepare * seconds));
  if (options.objective == Objective::kThroughput) {
    placed.load_bound_us =
        LoadBoundUs(placed.task.sim, options.stop.After(*timed.begin, kMostShareToPrepare * seconds));
  }
  bound_us = options.objective == Objective::kThroughput ? placed.load_bound_us : placed.lower_bound_us;
  if (seconds > 0 && !options.order.empty()) {  // The search leaves time for the order.
    timed.seconds = seconds - std::min(SecondsToOrder(options.order, placed.task), kMostShareToOrder * seconds);
    method = MakeMethod(request.method, timed);
  }
  try {
    placed.result = method->Place(placed.task);
  } catch (const Stopped&) {  // Out of time, one that does not search has nothing.
    if (method->searches() || options.stop.Now()) throw;
  }
  if (request.on_placed) request.on_placed();
  const StopSignal order_stop = options.stop.After(*timed.begin, std::max(seconds, limit_s));
  if (!options.order.empty()) SetOrder(options.order, placed.task, placed.result, order_stop);

  placed.found = Score(placed.task, placed.result);
  std::optional<ChosenPlacement> chosen =
      MethodOrSingleDevice(placed.task, placed.result, placed.found, options.order, options.objective, order_stop);
  if (!chosen) {
    throw RunFailed(StrCat(request.graph_source, ": method '", request.method, "' found no legal placement on ",
                           request.devices_source, ", and no single device may run every op"));
  }
  placed.chosen = std::move(*chosen);
  placed.found_by = placed.chosen.fallback           ? "single"
                    : placed.result.found_by.empty() ? request.method
                                                     : placed.result.found_by;
  placed.seconds = std::chrono::duration<double>(StopSignal::Clock::now() - *timed.begin).count();
  return placed;
}

}  // namespace emplace
