#include "simulator/methods/exact/lower_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "common/disjoint_sets.h"
#include "simulator/engine/graph_paths.h"
#include "simulator/methods/exact/path_bound.h"
#include "simulator/methods/exact/relaxation.h"

namespace emplace {
namespace {

constexpr double kMargin = 1 - 1e-9;  // Sums in another order than the simulator's differ in their last bits.
constexpr double kNever = std::numeric_limits<double>::infinity();

// The ops of a longest path, in its order, where op o takes us[o], and head_us is HeadsUs of these.
std::vector<OpIndex> LongestPath(const SimGraph& graph, const std::vector<double>& us,
                                 const std::vector<double>& head_us) {
  std::vector<OpIndex> before(us.size(), -1);  // The op before on a longest path to each op.
  OpIndex last = 0;
  for (OpIndex op = 0; op < graph.num_ops; ++op) {
    const auto o = static_cast<size_t>(op);
    for (const OpIndex reader : graph.ReadersOf(op)) {
      if (head_us[o] + us[o] == head_us[static_cast<size_t>(reader)]) before[static_cast<size_t>(reader)] = op;
    }
    const auto l = static_cast<size_t>(last);
    if (head_us[o] + us[o] > head_us[l] + us[l]) last = op;
  }
  std::vector<OpIndex> path;
  for (OpIndex op = last; op >= 0; op = before[static_cast<size_t>(op)]) path.push_back(op);
  std::ranges::reverse(path);
  return path;
}

// [n] the time of each op on the device that takes longest for it.
std::vector<double> GreatestCostsUs(const SimGraph& graph) {
  std::vector<double> us(static_cast<size_t>(graph.num_ops), 0);
  for (size_t o = 0; o < us.size(); ++o) {
    for (size_t d = 0; d < static_cast<size_t>(graph.num_devices); ++d) {
      us[o] = std::fmax(us[o], graph.cost_us[o * static_cast<size_t>(graph.num_devices) + d]);
    }
  }
  return us;
}

// Thresholds at which a value is cut into steps: evenly spaced ranks, from the least value on.
std::vector<double> Thresholds(std::vector<double> values) {
  constexpr size_t kMost = 64;
  std::sort(values.begin(), values.end());
  std::vector<double> thresholds;
  for (size_t i = 0; i < kMost; ++i) thresholds.push_back(values[i * values.size() / kMost]);
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  return thresholds;
}

// Ops with a head of at least h and a tail of at least t: nothing of them runs before h, some device is busy for their
// shares or longer, and t follows the last of them, though not the overhead after it.
double WindowBoundUs(const SimGraph& graph, const std::vector<double>& head_us, const std::vector<double>& tail_us,
                     const std::vector<double>& shares) {
  const std::vector<double> heads = Thresholds(head_us);
  const std::vector<double> tails = Thresholds(tail_us);
  const auto step = [](const std::vector<double>& thresholds, double value) {
    return static_cast<size_t>(std::upper_bound(thresholds.begin(), thresholds.end(), value) - thresholds.begin()) - 1;
  };
  std::vector<double> sum(heads.size() * tails.size());
  for (size_t o = 0; o < shares.size(); ++o) {
    sum[step(heads, head_us[o]) * tails.size() + step(tails, tail_us[o])] += shares[o];
  }
  double best = 0;
  for (size_t h = heads.size(); h-- > 0;) {
    for (size_t t = tails.size(); t-- > 0;) {
      double& work = sum[h * tails.size() + t];
      if (h + 1 < heads.size()) work += sum[(h + 1) * tails.size() + t];
      if (t + 1 < tails.size()) work += sum[h * tails.size() + t + 1];
      if (h + 1 < heads.size() && t + 1 < tails.size()) work -= sum[(h + 1) * tails.size() + t + 1];
      if (work <= 0) continue;
      const double follows = std::max(0.0, tails[t] - graph.op_overhead_us);
      best = std::max(best, heads[h] + work + follows);
    }
  }
  return best;
}

bool MayHoldAll(const SimGraph& graph, DeviceIndex device) {
  double bytes = 0;
  for (OpIndex op = 0; op < graph.num_ops; ++op) {
    if (!graph.MayRun(op, device)) return false;
    bytes += static_cast<double>(graph.param_bytes[static_cast<size_t>(op)]);
  }
  return bytes <= static_cast<double>(graph.memory_bytes[static_cast<size_t>(device)]);
}

bool InOnePiece(const SimGraph& graph) {
  DisjointSets pieces(graph.num_ops);
  for (OpIndex op = 0; op < graph.num_ops; ++op) {
    for (const OpIndex reader : graph.ReadersOf(op)) pieces.Join(op, reader);
  }
  return pieces.sets() == 1;
}

// The links between two devices that are the fastest for some number of bytes. REQUIRES: there are two devices.
std::vector<LinkTimes> FastestLinks(const SimGraph& graph) {
  if (graph.link_model != LinkModel::kTopology) return {graph.LinkTimesOf(0, 1)};
  std::vector<LinkTimes> links;
  for (DeviceIndex from = 0; from < graph.num_devices; ++from) {
    for (DeviceIndex to = 0; to < graph.num_devices; ++to) {
      if (from != to) links.push_back(graph.LinkTimesOf(from, to));
    }
  }
  std::ranges::sort(links, {},
                    [](const LinkTimes& link) { return std::pair(link.latency_us, -link.bandwidth_bytes_per_us); });
  double most_bandwidth = 0;
  std::erase_if(links, [&](const LinkTimes& link) {
    return link.bandwidth_bytes_per_us <=
           std::exchange(most_bandwidth, std::max(most_bandwidth, link.bandwidth_bytes_per_us));
  });
  return links;
}

double SplitBoundUs(const SimGraph& graph, const std::vector<double>& cost_us, const std::vector<double>& head_us,
                    const std::vector<double>& tail_us) {
  for (DeviceIndex device = 0; device < graph.num_devices; ++device) {
    if (MayHoldAll(graph, device)) return 0;
  }
  if (graph.num_devices < 2 || !InOnePiece(graph)) return 0;
  const std::vector<LinkTimes> links = FastestLinks(graph);
  double least = kNever;
  for (size_t o = 0; o < cost_us.size(); ++o) {
    for (const int32_t tensor : graph.TensorsOf(static_cast<OpIndex>(o))) {
      double after_us = kNever;
      for (const OpIndex reader : graph.tensor_consumers.Row(tensor)) {
        const auto r = static_cast<size_t>(reader);
        after_us = std::min(after_us, cost_us[r] + tail_us[r]);
      }
      const int64_t bytes = graph.tensor_bytes[static_cast<size_t>(tensor)];
      double transfer_us = kNever;
      for (const LinkTimes& link : links) transfer_us = std::min(transfer_us, link.TransferUs(bytes));
      least = std::min(least, head_us[o] + cost_us[o] + transfer_us + after_us);
    }
  }
  return std::isfinite(least) ? least : 0;
}

}  // namespace

double LowerBoundUs(const SimGraph& graph, const StopSignal& stop) {
  if (graph.num_ops == 0) return 0;
  const std::vector<double> cost_us = LeastCostsUs(graph);
  const std::vector<double> head_us = HeadsUs(graph, cost_us);
  const std::vector<double> tail_us = TailsUs(graph);
  double bound = 0;
  for (size_t o = 0; o < cost_us.size(); ++o) bound = std::max(bound, head_us[o] + cost_us[o] + tail_us[o]);
  const std::vector<DeviceClass> classes = ClassesOf(graph);
  const Relaxation relaxation(graph, stop, classes);
  bound = std::max(bound, relaxation.best_us());
  const std::vector<OpIndex> path = LongestPath(graph, cost_us, head_us);
  if (classes.size() > 1 && MemoryMatters(graph, classes)) {
    const std::vector<double> greatest_us = GreatestCostsUs(graph);
    const std::vector<OpIndex> slowest_path = LongestPath(graph, greatest_us, HeadsUs(graph, greatest_us));
    bound = std::max(bound, Relaxation(graph, stop, classes, path).best_us());
    bound = std::max(bound, Relaxation(graph, stop, classes, slowest_path).best_us());
  }
  const std::vector<double> shares_us = relaxation.Shares();
  bound = std::max(bound, WindowBoundUs(graph, head_us, tail_us, shares_us));
  bound = std::max(bound, PathBoundUs(graph, path, cost_us, head_us, tail_us, shares_us));
  bound = std::max(bound, SplitBoundUs(graph, cost_us, head_us, tail_us));
  return bound * kMargin;
}

double LoadBoundUs(const SimGraph& graph, const StopSignal& stop) {
  return Relaxation(graph, stop, ClassesOf(graph)).best_us() * kMargin;
}

}  // namespace emplace
