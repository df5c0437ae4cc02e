#include "simulator/methods/exact/relaxation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace emplace {

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

bool MemoryMatters(const SimGraph& graph, const std::vector<DeviceClass>& classes) {
  const double param_bytes = std::accumulate(graph.param_bytes.begin(), graph.param_bytes.end(), 0.0);
  return param_bytes > 0 &&
         std::ranges::any_of(classes, [&](const DeviceClass& c) { return param_bytes > c.memory_bytes; });
}

Relaxation::Relaxation(const SimGraph& graph, const StopSignal& stop, const std::vector<DeviceClass>& classes,
                       std::span<const OpIndex> path)
    : graph_(graph), stop_(stop), classes_(classes) {
  if (!path.empty()) on_path_.assign(static_cast<size_t>(graph.num_ops), false);
  for (const OpIndex op : path) on_path_[static_cast<size_t>(op)] = true;
  double bytes = 0;
  for (const DeviceClass& c : classes_) bytes += c.memory_bytes;
  memory_matters_ = MemoryMatters(graph, classes_);
  if (memory_matters_) most_us_ = graph.LongestRunUs();
  Begin();
  price_scale_ = bytes > 0 ? best_us_ / bytes : 0;
  if (classes_.size() > 1) Maximize();
  if (!nothing_fits_) return;
  memory_matters_ = nothing_fits_ = false;
  Begin();
  Maximize();
}

void Relaxation::Begin() {
  weights_.assign(classes_.size(), 1);
  prices_.assign(classes_.size(), 0);
  best_us_ = Value();
}

std::vector<double> Relaxation::Shares() const {
  std::vector<double> shares(static_cast<size_t>(graph_.num_ops));
  const double sum = WeightOfAll();
  for (OpIndex op = 0; op < graph_.num_ops; ++op) {
    double least = std::numeric_limits<double>::infinity();
    for (size_t c = 0; c < classes_.size(); ++c)
      least = std::fmin(least, weights_[c] / sum * graph_.BusyUs(op, classes_[c].first));
    shares[static_cast<size_t>(op)] = least;
  }
  return shares;
}

double Relaxation::WeightOfAll() const {
  double sum = 0;
  for (size_t c = 0; c < classes_.size(); ++c) sum += weights_[c] * classes_[c].devices;
  return sum;
}

double Relaxation::PartUs(OpIndex op, size_t c, double weight_of_all) const {
  const double busy_us = graph_.BusyUs(op, classes_[c].first);
  if (on_path_.empty()) return weights_[c] / weight_of_all * busy_us;
  // The overhead after an op delays nothing on another device.
  if (!MayRunAt(busy_us)) return busy_us;
  return on_path_[static_cast<size_t>(op)] && busy_us > 0 ? busy_us - graph_.op_overhead_us : 0;
}

double Relaxation::Value() const {
  const double sum = WeightOfAll();
  double value = 0;
  for (OpIndex op = 0; op < graph_.num_ops; ++op) {
    const auto bytes = static_cast<double>(graph_.param_bytes[static_cast<size_t>(op)]);
    double least = std::numeric_limits<double>::infinity();
    for (size_t c = 0; c < classes_.size(); ++c) {
      least = std::fmin(least, PartUs(op, c, sum) + prices_[c] * bytes);
    }
    value += least;
  }
  for (size_t c = 0; c < classes_.size(); ++c) value -= prices_[c] * classes_[c].memory_bytes;
  return value;
}

void Relaxation::Maximize() {
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

void Relaxation::TryPricesByRest() {
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

bool Relaxation::TryPrices(const std::vector<double>& prices, double scale) {
  std::vector<double> old = prices_;
  for (size_t c = 0; c < prices.size(); ++c) prices_[c] = scale * prices[c];
  if (IsBest()) return true;
  prices_ = std::move(old);
  return false;
}

void Relaxation::TryFactors(double& number) {
  for (double factor = 4; factor > 1.001 && !stop_.Now(); factor = std::sqrt(factor)) {
    while (!stop_.Now() && (TryValue(number, number * factor) || TryValue(number, number / factor))) {
    }
  }
}

bool Relaxation::TryValue(double& number, double value) {
  const double old = number;
  number = value;
  if (IsBest()) return true;
  number = old;
  return false;
}

bool Relaxation::IsBest() {
  const double us = Value();
  // Of an assignment that cannot be, the dual has no greatest value.
  nothing_fits_ = nothing_fits_ || us > most_us_;
  if (nothing_fits_ || !(us > best_us_ * (1 + 1e-9) && std::isfinite(us))) return false;
  best_us_ = us;
  return true;
}

}  // namespace emplace
