#include "simulator/methods/stages/block_row.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/error.h"
#include "common/sort_unique.h"
#include "simulator/engine/mean_link.h"

namespace emplace {
namespace {

double Rounded(double us) { return std::ldexp(std::round(std::ldexp(us, 20)), -20); }

template <typename T>
void SumUp(std::span<T> values) {
  for (size_t i = 1; i < values.size(); ++i) values[i] += values[i - 1];
}

}  // namespace

BlockRow::BlockRow(const PlacementTask& task, std::vector<int32_t> block_of_op, int32_t num_blocks)
    : task_(task),
      block_of_op_(std::move(block_of_op)),
      num_blocks_(num_blocks),
      microbatches_(task.NumMicrobatches()) {
  EMPLACE_CHECK(block_of_op_.size() == static_cast<size_t>(task.sim.num_ops));
  AddOps();
  AddTensors();
}

void BlockRow::AddOps() {
  const SimGraph& sim = task_.sim;
  const auto row = static_cast<size_t>(num_blocks_) + 1;
  const auto devices = static_cast<size_t>(sim.num_devices);
  work_us_.resize(devices * row);
  forbidden_.resize(devices * row);
  least_bytes_.resize(row);
  most_bytes_.resize(row);
  for (OpIndex op = 0; op < sim.num_ops; ++op) {
    const auto o = static_cast<size_t>(op);
    const auto behind = static_cast<size_t>(block_of_op_[o]) + 1;
    least_bytes_[behind] += sim.param_bytes[o];
    most_bytes_[behind] += sim.param_bytes[o] + sim.output_bytes[o] + sim.temp_bytes[o];
    for (size_t device = 0; device < devices; ++device) {
      const double us = sim.BusyUs(op, static_cast<DeviceIndex>(device));
      (MayRunAt(us) ? work_us_[device * row + behind] += us : forbidden_[device * row + behind] += 1);
    }
  }
  for (double& us : work_us_) us = Rounded(us);
  for (size_t device = 0; device < devices; ++device) {
    SumUp(std::span(work_us_).subspan(device * row, row));
    SumUp(std::span(forbidden_).subspan(device * row, row));
  }
}

void BlockRow::AddTensors() {
  const SimGraph& sim = task_.sim;
  const auto row = static_cast<size_t>(num_blocks_) + 1;
  const MeanLink link = MeanLinkOf(sim);
  transfers_us_.resize(row * row);
  forward_.resize(row);
  backward_.resize(row);
  for (OpIndex op = 0; op < sim.num_ops; ++op) {
    const auto o = static_cast<size_t>(op);
    const int32_t maker = block_of_op_[o];
    for (const int32_t tensor : sim.TensorsOf(op)) {
      std::vector<int32_t> parts = {maker};
      for (const OpIndex reader : sim.tensor_consumers.Row(tensor)) {
        parts.push_back(block_of_op_[static_cast<size_t>(reader)]);
      }
      SortUnique(parts);
      if (parts.size() == 1) continue;
      const int64_t bytes = sim.tensor_bytes[static_cast<size_t>(tensor)];
      AddTransfer(link.BusyUs(bytes), parts);
      const auto add = [&](Border& border) {
        border.bytes += static_cast<double>(bytes);
        ++border.tensors;
      };
      if (parts.back() > maker) add(forward_[static_cast<size_t>(maker) + 1]);
      if (parts.front() < maker) add(backward_[static_cast<size_t>(maker)]);
      for (const int32_t part : parts) {
        if (part != maker) most_bytes_[static_cast<size_t>(part) + 1] += bytes;
      }
    }
  }
  SumTransfers();
  SumUp(std::span(least_bytes_));
  SumUp(std::span(most_bytes_));
}

// A stage [begin, end) sends or receives the tensor if it has some of the parts and not all of them. Until
// SumTransfers, an entry is by how much the sum over all lower begins and ends changes.
void BlockRow::AddTransfer(double us, std::span<const int32_t> parts) {
  const double rounded_us = Rounded(us);
  // For begins in [first, last] and ends above `end`.
  const auto add = [&](int32_t first, int32_t last, int32_t end, double change_us) {
    transfers_us_[At(first, end + 1)] += change_us;
    transfers_us_[At(last + 1, end + 1)] -= change_us;
  };
  int32_t first = 0;
  for (const int32_t part : parts) {
    add(first, part, part, rounded_us);  // It is the first part in the stage.
    first = part + 1;
  }
  add(0, parts.front(), parts.back(), -rounded_us);  // All are.
}

void BlockRow::SumTransfers() {
  for (int32_t begin = 0; begin <= num_blocks_; ++begin) {
    for (int32_t end = 0; end <= num_blocks_; ++end) {
      double& us = transfers_us_[At(begin, end)];
      if (begin > 0) us += transfers_us_[At(begin - 1, end)];
      if (end > 0) us += transfers_us_[At(begin, end - 1)];
      if (begin > 0 && end > 0) us -= transfers_us_[At(begin - 1, end - 1)];
    }
  }
}

Placement BlockRow::PlacementOf(const Division& division) const {
  std::vector<DeviceIndex> device_of_block(static_cast<size_t>(num_blocks_), -1);
  for (const Stage& stage : division) {
    for (int32_t block = stage.begin; block < stage.end; ++block)
      device_of_block[static_cast<size_t>(block)] = stage.device;
  }
  Placement placement;
  for (const int32_t block : block_of_op_) placement.push_back(device_of_block[static_cast<size_t>(block)]);
  return placement;
}

double BlockRow::WorkUs(const Stage& stage) const {
  const size_t row = static_cast<size_t>(stage.device) * (static_cast<size_t>(num_blocks_) + 1);
  const size_t begin = row + static_cast<size_t>(stage.begin);
  const size_t end = row + static_cast<size_t>(stage.end);
  if (forbidden_[end] > forbidden_[begin]) return std::numeric_limits<double>::infinity();
  return work_us_[end] - work_us_[begin];
}

double BlockRow::CrossingUs(DeviceIndex from, DeviceIndex to, int32_t at) const {
  return DelayUs(forward_[static_cast<size_t>(at)], from, to) + DelayUs(backward_[static_cast<size_t>(at)], to, from);
}

double BlockRow::DelayUs(const Border& border, DeviceIndex from, DeviceIndex to) const {
  if (border.tensors == 0) return 0;
  const SimGraph& sim = task_.sim;
  const LinkTimes link = sim.LinkTimesOf(from, to);
  // Each micro-batch waits for its last tensor, and those before keep the link busy a little longer.
  const int32_t last = std::min(border.tensors, microbatches_);
  return Rounded(border.bytes / link.bandwidth_bytes_per_us + (border.tensors - last) * sim.transfer_overhead_us +
                 last * (link.latency_us - sim.op_overhead_us));
}

}  // namespace emplace
