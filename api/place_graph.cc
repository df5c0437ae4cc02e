#include "api/place_graph.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/graph/device_costs.h"
#include "simulator/methods/exact/lower_bound.h"
#include "simulator/methods/lists/disciplines.h"

namespace emplace {
namespace {

// Shares of a search's time that grouping the ops may take, and that with the lower bound.
constexpr double kMostShareToGroup = 0.3;
constexpr double kMostShareToPrepare = 0.4;
// A search ends when it is above the bound by this share at most.
constexpr double kAtBound = 1e-6;

void CheckMemory(const OpGraph& graph, const Cluster& cluster, const std::string& devices_source) {
  double resident_bytes = 0;
  double memory_bytes = 0;
  DeviceCosts costs(cluster);
  for (const Device& device : cluster.devices) memory_bytes += static_cast<double>(device.memory_bytes);
  for (const Op& op : graph.ops()) {
    resident_bytes += static_cast<double>(op.param_bytes);
    const auto bytes = static_cast<double>(op.AllBytes());
    double most_bytes = 0;
    const std::span<const double> cost_us = costs.Of(op);
    for (size_t d = 0; d < cost_us.size(); ++d) {
      if (!std::isnan(cost_us[d]))
        most_bytes = std::max(most_bytes, static_cast<double>(cluster.devices[d].memory_bytes));
    }
    if (bytes <= most_bytes) continue;
    throw BadInput(StrCat(devices_source, ": op '", op.name, "' needs ", ShownBytes(bytes), ", expected at most ",
                          ShownBytes(most_bytes), ", the most that a device which may run it has"));
  }
  if (resident_bytes <= memory_bytes) return;
  throw BadInput(StrCat(devices_source, ": what '", graph.name(),
                        "' holds for the whole step (parameters, inputs) needs ", ShownBytes(resident_bytes),
                        ", expected at most ", ShownBytes(memory_bytes), ", what all devices have together"));
}

}  // namespace

std::string ShownBytes(double bytes) {
  return bytes < 1e6 ? Format("%.0f bytes", bytes) : Format("%.3f GB", bytes / 1e9);
}

void AskForOrder(const std::string& said, MethodOptions& options) {
  options.order = said == kNoOrder ? "" : said;
  options.orders = said != kNoOrder && said != "arrival";  // By arrival placements run as without an order.
}

PlacedGraph PlaceGraph(const OpGraph& graph, const Cluster& cluster, const PlaceRequest& request,
                       const MethodOptions& options) {
  MethodOptions timed = options;
  timed.begin = StopSignal::Clock::now();
  double bound_us = 0;
  std::atomic<bool> at_bound = false;
  timed.stop = StopSignal([&] { return at_bound.load(std::memory_order_relaxed) || options.stop.Now(); });
  timed.progress = [&](const SearchProgress& progress) {
    if (options.progress) options.progress(progress);
    if (progress.fits && progress.best_us <= (1 + kAtBound) * bound_us) at_bound = true;
  };
  const std::unique_ptr<PlacementMethod> method = MakeMethod(request.method, timed);
  const double seconds = method->searches() ? options.seconds : 0;
  CheckKinds(graph, cluster);
  CheckMemory(graph, cluster, request.devices_source);
  PlacedGraph placed;
  placed.task =
      PlacementTask::Make(graph, cluster, request.max_groups,
                          options.stop.After(*timed.begin, kMostShareToGroup * seconds), method->places_groups());
  placed.lower_bound_us =
      LowerBoundUs(placed.task.sim, options.stop.After(*timed.begin, kMostShareToPrepare * seconds));
  if (options.objective == Objective::kThroughput) {
    placed.load_bound_us =
        LoadBoundUs(placed.task.sim, options.stop.After(*timed.begin, kMostShareToPrepare * seconds));
  }
  bound_us = options.objective == Objective::kThroughput ? placed.load_bound_us : placed.lower_bound_us;
  placed.result = method->Place(placed.task);
  if (placed.result.placement && request.on_placed) request.on_placed();
  if (!options.order.empty()) SetOrder(options.order, placed.task, placed.result);

  placed.found = Score(placed.task, placed.result);
  std::optional<ChosenPlacement> chosen =
      MethodOrSingleDevice(placed.task, placed.result, placed.found, options.order, options.objective);
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
