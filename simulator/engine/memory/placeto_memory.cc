#include "simulator/engine/memory/placeto_memory.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace emplace {

namespace {

// Until when an op keeps what it reads. Times are not negative and below 2^63 (CheckLongestRun), where this is floor.
double ReadUntil(double start_us, double cost_us) {
  const auto floor = [](double us) { return static_cast<double>(static_cast<int64_t>(us)); };
  return floor(start_us) + floor(cost_us) - 1;
}

double CostUs(const SimGraph& graph, size_t op, DeviceIndex device) {
  return graph.cost_us[op * static_cast<size_t>(graph.num_devices) + static_cast<size_t>(device)];
}

}  // namespace

double HeldUntil(const SimGraph& graph, OpIndex op, std::span<const DeviceIndex> placement,
                 std::span<const double> start_us) {
  double until = start_us[static_cast<size_t>(op)];
  for (const int32_t reader : graph.ReadersOf(op)) {
    const auto r = static_cast<size_t>(reader);
    until = std::max(until, ReadUntil(start_us[r], CostUs(graph, r, placement[r])));
  }
  return until;
}

PlacetoMemory::PlacetoMemory(const SimGraph& graph) : graph_(graph) {
  const auto n = static_cast<size_t>(graph.num_ops);
  read_until_.resize(n);
  order_.resize(n);
  start_us_.resize(n);
  change_.resize(n + 1);
  bucket_first_.resize(n + 2);
}

PlacetoMemory::Row PlacetoMemory::IndexStarts(size_t first, size_t last) {
  const auto buckets = static_cast<double>(last - first);
  Row row{first, last, buckets / start_us_[last - 1]};
  if (!std::isfinite(row.buckets_per_us)) row.buckets_per_us = 0;  // All start at 0, or as good as.
  std::fill_n(bucket_first_.begin(), last - first + 2, 0);
  for (size_t k = first; k < last; ++k) ++bucket_first_[static_cast<size_t>(start_us_[k] * row.buckets_per_us) + 1];
  bucket_first_[0] = first;
  for (size_t bucket = 1; bucket < last - first + 2; ++bucket) bucket_first_[bucket] += bucket_first_[bucket - 1];
  return row;
}

size_t PlacetoMemory::FirstAfter(const Row& row, double time_us) const {
  if (time_us >= start_us_[row.last - 1]) return row.last;
  // Rounding keeps the order of times, so what is in an earlier bucket starts no later, what is in a later one starts
  // later.
  const auto bucket = static_cast<size_t>(time_us * row.buckets_per_us);
  size_t position = bucket_first_[bucket];
  // Most buckets hold an op or two: two steps whose outcome no branch has to guess.
  position += static_cast<size_t>(start_us_[position] <= time_us);
  position += static_cast<size_t>(start_us_[position] <= time_us);
  if (start_us_[position] > time_us) return position;
  const auto at = [this](size_t index) { return start_us_.begin() + static_cast<std::ptrdiff_t>(index); };
  return static_cast<size_t>(std::upper_bound(at(position), at(bucket_first_[bucket + 1]), time_us) -
                             start_us_.begin());
}

void PlacetoMemory::Compute(std::span<const DeviceIndex> placement, const RunState& run,
                            std::span<int64_t> peak_bytes) {
  const Timeline& timeline = run.timeline;
  for (size_t o = 0; o < read_until_.size(); ++o) {
    read_until_[o] = ReadUntil(timeline.start_us[o], CostUs(graph_, o, placement[o]));
  }
  size_t last = 0;
  for (size_t device = 0; device < peak_bytes.size(); ++device) {
    const size_t first = last;
    int64_t held_bytes = 0;
    run.ForEachStarted(device, [&](OpIndex op) {
      const auto o = static_cast<size_t>(op);
      order_[last] = op;
      start_us_[last] = timeline.start_us[o];
      change_[last] = graph_.output_bytes[o] + graph_.temp_bytes[o];
      held_bytes += graph_.param_bytes[o];
      ++last;
    });
    peak_bytes[device] = held_bytes;
    if (last == first) continue;
    const Row row = IndexStarts(first, last);
    // What is released after a time is gone for the first op that starts later; after the last one it matters no more.
    change_[last] = 0;
    for (size_t k = first; k < last; ++k) {
      const auto o = static_cast<size_t>(order_[k]);
      if (graph_.output_bytes[o] > 0) {
        double until = start_us_[k];
        for (const int32_t reader : graph_.ReadersOf(order_[k]))
          until = std::max(until, read_until_[static_cast<size_t>(reader)]);
        change_[FirstAfter(row, until)] -= graph_.output_bytes[o];
      }
      if (graph_.temp_bytes[o] > 0) change_[FirstAfter(row, timeline.finish_us[o])] -= graph_.temp_bytes[o];
    }
    for (size_t k = first; k < last; ++k) {
      held_bytes += change_[k];
      peak_bytes[device] = std::max(peak_bytes[device], held_bytes);
    }
  }
}

}  // namespace emplace
