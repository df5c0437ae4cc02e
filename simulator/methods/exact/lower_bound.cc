#include "simulator/methods/exact/lower_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "common/disjoint_sets.h"
#include "simulator/engine/graph_paths.h"
#include "simulator/methods/exact/path_bound.h"

namespace emplace {
namespace {

constexpr double kMargin = 1 - 1e-9;  // Sums in another order than the simulator's differ in their last bits.
constexpr double kNever = std::numeric_limits<double>::infinity();

// Devices on which every op takes the same time, and their memory together.
struct DeviceClass {
  DeviceIndex first;
  double devices = 0;
  double memory_bytes = 0;
};

std::vector<DeviceClass> ClassesOf(const SimGraph& graph) {
  std::vector<DeviceClass> classes;
  for (DeviceIndex device = 0; device < graph.num_devices; ++device) {
    auto found =
        std::ranges::find_if(classes, [&](const DeviceClass& known) { return graph.TakeTheSame(device, known.first); });
    if (found == classes.end()) found = classes.insert(found, DeviceClass{device});
    found->devices += 1;
    found->memory_bytes += static_cast<double>(graph.memory_bytes[static_cast<size_t>(device)]);
  }
  return classes;
}

// Whether some devices that take the same times lack memory for all parameters.
bool MemoryMatters(const SimGraph& graph, const std::vector<DeviceClass>& classes) {
  const double param_bytes = std::accumulate(graph.param_bytes.begin(), graph.param_bytes.end(), 0.0);
  return param_bytes > 0 &&
         std::ranges::any_of(classes, [&](const DeviceClass& c) { return param_bytes > c.memory_bytes; });
}

// The dual of the assignment's relaxation. A device of class c has the weight w_c >= 0, with a sum over devices of 1,
// and a byte of its memory the price p_c >= 0. An op's share of the makespan is the least of w_c * its time + p_c * its
// parameters. For any weights and prices, shares of all ops less the prices of all memory are a lower bound.
//
// Ops on one path run one after the other wherever they are: there the weights are 1 for each device, and the ops
// beside the path take no time, though memory.
class Relaxation {
 public:
  // path: its ops; empty: the bound is of all work, shared out.
  Relaxation(const SimGraph& graph, const StopSignal& stop, const std::vector<DeviceClass>& classes,
             std::span<const OpIndex> path = {})
      : graph_(graph), stop_(stop), classes_(classes) {
    if (!path.empty()) on_path_.assign(static_cast<size_t>(graph.num_ops), false);
    for (const OpIndex op : path) on_path_[static_cast<size_t>(op)] = true;
    double bytes = 0;
    for (const DeviceClass& c : classes_) bytes += c.memory_bytes;
    memory_matters_ = MemoryMatters(graph, classes_);
    weights_.assign(classes_.size(), 1);
    prices_.assign(classes_.size(), 0);
    best_us_ = Value();
    price_scale_ = bytes > 0 ? best_us_ / bytes : 0;
    if (classes_.size() > 1) Maximize();
  }

  double best_us() const { return best_us_; }
  // [n] shares without prices, which a bound for some of the ops may add up.
  std::vector<double> Shares() const {
    std::vector<double> shares(static_cast<size_t>(graph_.num_ops));
    const double sum = WeightOfAll();
    for (OpIndex op = 0; op < graph_.num_ops; ++op) {
      double least = kNever;
      for (size_t c = 0; c < classes_.size(); ++c)
        least = std::fmin(least, weights_[c] / sum * graph_.BusyUs(op, classes_[c].first));
      shares[static_cast<size_t>(op)] = least;
    }
    return shares;
  }

 private:
  double WeightOfAll() const {
    double sum = 0;
    for (size_t c = 0; c < classes_.size(); ++c) sum += weights_[c] * classes_[c].devices;
    return sum;
  }
  // An op's part of the bound on a device of the class, but for its memory; NaN if it may not run there.
  double PartUs(OpIndex op, size_t c, double weight_of_all) const {
    const double busy_us = graph_.BusyUs(op, classes_[c].first);
    if (on_path_.empty()) return weights_[c] / weight_of_all * busy_us;
    // The overhead after an op delays nothing on another device.
    if (!MayRunAt(busy_us)) return busy_us;
    return on_path_[static_cast<size_t>(op)] && busy_us > 0 ? busy_us - graph_.op_overhead_us : 0;
  }

  double Value() const {
    const double sum = WeightOfAll();
    double value = 0;
    for (OpIndex op = 0; op < graph_.num_ops; ++op) {
      const auto bytes = static_cast<double>(graph_.param_bytes[static_cast<size_t>(op)]);
      double least = kNever;
      for (size_t c = 0; c < classes_.size(); ++c) {
        least = std::fmin(least, PartUs(op, c, sum) + prices_[c] * bytes);
      }
      value += least;
    }
    for (size_t c = 0; c < classes_.size(); ++c) value -= prices_[c] * classes_[c].memory_bytes;
    return value;
  }

  // Raises one number after the other. The dual is concave in the prices and in the ratios of the weights.
  void Maximize() {
    constexpr int kSweeps = 3;
    if (memory_matters_) TryPricesByRest();
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      const double before = best_us_;
      for (double& weight : weights_) {
        if (on_path_.empty()) TryFactors(weight);
      }
      if (memory_matters_) {
        for (double& price : prices_) {
          if (price == 0) TryValue(price, price_scale_);
          TryFactors(price);
        }
      }
      if (best_us_ <= before * (1 + 1e-6)) return;
    }
  }
  // Prices at which it is equal, in the mean, whether bytes are on the class that takes the rest or on a faster one:
  // raised one after the other, ops only move from a class to the next that is still free.
  void TryPricesByRest() {
    constexpr double kMostScale = 256;
    const double weight_of_all = WeightOfAll();
    const double param_bytes = std::accumulate(graph_.param_bytes.begin(), graph_.param_bytes.end(), 0.0);
    std::vector<double> us(classes_.size(), 0);
    for (OpIndex op = 0; op < graph_.num_ops; ++op) {
      for (size_t c = 0; c < classes_.size(); ++c) {
        const double part_us = PartUs(op, c, weight_of_all);
        if (MayRunAt(part_us)) us[c] += part_us;
      }
    }
    for (const double rest_us : us) {
      std::vector<double> prices(classes_.size());
      for (size_t c = 0; c < classes_.size(); ++c) prices[c] = std::max(0.0, rest_us - us[c]) / param_bytes;
      // The ops at the border between the classes may save more or less for each byte than the mean.
      double best_scale = 0;
      for (double scale = 1.0 / kMostScale; scale <= kMostScale && !stop_.Now(); scale *= 2) {
        if (TryPrices(prices, scale)) best_scale = scale;
      }
      for (double factor = std::sqrt(2); best_scale > 0 && factor > 1.001 && !stop_.Now(); factor = std::sqrt(factor)) {
        for (const double scale : {best_scale * factor, best_scale / factor}) {
          if (TryPrices(prices, scale)) best_scale = scale;
        }
      }
    }
  }
  // Keeps the prices, times `scale`, if they are better.
  bool TryPrices(const std::vector<double>& prices, double scale) {
    std::vector<double> old = prices_;
    for (size_t c = 0; c < prices.size(); ++c) prices_[c] = scale * prices[c];
    const double us = Value();
    if (us > best_us_ * (1 + 1e-9) && std::isfinite(us)) {
      best_us_ = us;
      return true;
    }
    prices_ = std::move(old);
    return false;
  }
  void TryFactors(double& number) {
    for (double factor = 4; factor > 1.001 && !stop_.Now(); factor = std::sqrt(factor)) {
      while (!stop_.Now() && (TryValue(number, number * factor) || TryValue(number, number / factor))) {
      }
    }
  }
  // Keeps the value if it is better by more than rounding.
  bool TryValue(double& number, double value) {
    const double old = number;
    number = value;
    const double us = Value();
    if (us > best_us_ * (1 + 1e-9) && std::isfinite(us)) {
      best_us_ = us;
      return true;
    }
    number = old;
    return false;
  }

  const SimGraph& graph_;
  const StopSignal& stop_;
  const std::vector<DeviceClass>& classes_;
  std::vector<bool> on_path_;  // [n] or empty
  bool memory_matters_ = false;
  std::vector<double> weights_;  // Of a device of each class, before they are scaled to a sum of 1.
  std::vector<double> prices_;   // us a byte
  double price_scale_ = 0;       // The price at which all memory costs as much as all work.
  double best_us_ = 0;
};

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

// The least time in us of a transfer of so many bytes between two devices. REQUIRES: there are two.
double LeastTransferUs(const SimGraph& graph, int64_t bytes) {
  if (graph.link_model != LinkModel::kTopology) return graph.LinkTimesOf(0, 1).TransferUs(bytes);
  double least = kNever;
  for (DeviceIndex from = 0; from < graph.num_devices; ++from) {
    for (DeviceIndex to = 0; to < graph.num_devices; ++to) {
      if (from != to) least = std::min(least, graph.LinkTimesOf(from, to).TransferUs(bytes));
    }
  }
  return least;
}

double SplitBoundUs(const SimGraph& graph, const std::vector<double>& cost_us, const std::vector<double>& head_us,
                    const std::vector<double>& tail_us) {
  for (DeviceIndex device = 0; device < graph.num_devices; ++device) {
    if (MayHoldAll(graph, device)) return 0;
  }
  if (graph.num_devices < 2 || !InOnePiece(graph)) return 0;
  double least = kNever;
  for (size_t o = 0; o < cost_us.size(); ++o) {
    for (const int32_t tensor : graph.TensorsOf(static_cast<OpIndex>(o))) {
      double after_us = kNever;
      for (const OpIndex reader : graph.tensor_consumers.Row(tensor)) {
        const auto r = static_cast<size_t>(reader);
        after_us = std::min(after_us, cost_us[r] + tail_us[r]);
      }
      const double transfer_us = LeastTransferUs(graph, graph.tensor_bytes[static_cast<size_t>(tensor)]);
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
