#include "simulator/methods/search/throughput/load_state.h"

#include <algorithm>
#include <utility>

#include "common/sort_unique.h"

namespace emplace {
LoadState::LoadState(const PlacementTask& task)
    : sim_(task.sim), sends_to_each_(SendsToEach(task.sim)), set_of_op_(task.levels->Finest()) {
  const SimGraph& sim = sim_;
  const auto devices = static_cast<size_t>(sim.num_devices);
  const auto sets = static_cast<size_t>(CountOf(set_of_op_));
  work_us_.resize(sets * devices);
  set_bytes_.resize(sets);
  device_of_.resize(sets);
  loads_us_.resize(devices);
  param_bytes_.resize(devices);
  std::vector<std::pair<int32_t, int32_t>> made;
  std::vector<std::pair<int32_t, int32_t>> read;
  std::vector<std::pair<int32_t, int32_t>> adjacent;
  std::vector<int32_t> readers;
  for (OpIndex op = 0; op < sim.num_ops; ++op) {
    const auto o = static_cast<size_t>(op);
    const int32_t maker = set_of_op_[o];
    set_bytes_[static_cast<size_t>(maker)] += sim.param_bytes[o];
    for (size_t d = 0; d < devices; ++d)
      work_us_[static_cast<size_t>(maker) * devices + d] += sim.BusyUs(op, static_cast<DeviceIndex>(d));
    for (const int32_t t : sim.TensorsOf(op)) {
      readers.clear();
      for (const OpIndex reader : sim.tensor_consumers.Row(t)) {
        const int32_t set = set_of_op_[static_cast<size_t>(reader)];
        if (set != maker) readers.push_back(set);
      }
      SortUnique(readers);
      if (readers.empty()) continue;
      const auto tensor = static_cast<int32_t>(maker_of_.size());
      maker_of_.push_back(maker);
      tensor_of_.push_back(t);
      if (sim.link_model != LinkModel::kTopology) tensor_us_.push_back(TransferLoadUs(sim, t, 0, 1));
      made.emplace_back(maker, tensor);
      for (const int32_t reader : readers) {
        read.emplace_back(reader, tensor);
        adjacent.emplace_back(maker, reader);
        adjacent.emplace_back(reader, maker);
      }
    }
  }
  made_by_ = CsrFromPairs(num_sets(), made);
  read_by_ = CsrFromPairs(num_sets(), read);
  SortUnique(adjacent);
  neighbours_ = CsrFromPairs(num_sets(), adjacent);
  readers_on_.resize(maker_of_.size() * devices);
}

bool LoadState::MayRun(int32_t set, DeviceIndex device) const {
  return MayRunAt(work_us_[static_cast<size_t>(set) * loads_us_.size() + static_cast<size_t>(device)]);
}

void LoadState::Reset(std::span<const DeviceIndex> placement) {
  for (size_t o = 0; o < placement.size(); ++o) device_of_[static_cast<size_t>(set_of_op_[o])] = placement[o];
  std::ranges::fill(loads_us_, 0.0);
  std::ranges::fill(param_bytes_, 0);
  std::ranges::fill(readers_on_, 0);
  for (int32_t set = 0; set < num_sets(); ++set) {
    const DeviceIndex device = DeviceOf(set);
    loads_us_[static_cast<size_t>(device)] +=
        work_us_[static_cast<size_t>(set) * loads_us_.size() + static_cast<size_t>(device)];
    param_bytes_[static_cast<size_t>(device)] += ParamBytesOf(set);
    for (const int32_t tensor : read_by_.Row(set)) ++Readers(tensor, device);
  }
  for (size_t tensor = 0; tensor < maker_of_.size(); ++tensor)
    CountMade(static_cast<int32_t>(tensor), DeviceOf(maker_of_[tensor]), 1);
}

Placement LoadState::PlacementOf() const {
  Placement placement;
  placement.reserve(set_of_op_.size());
  for (const GroupIndex set : set_of_op_) placement.push_back(DeviceOf(set));
  return placement;
}

void LoadState::CountMade(int32_t tensor, DeviceIndex maker, double sign) {
  DeviceIndex last = -1;
  for (DeviceIndex d = 0; d < static_cast<DeviceIndex>(loads_us_.size()); ++d) {
    if (d == maker || Readers(tensor, d) == 0) continue;
    CountReader(tensor, maker, d, sign);
    last = d;
  }
  if (last >= 0) CountSent(tensor, maker, last, sign);
}

void LoadState::MoveReader(int32_t tensor, DeviceIndex from, DeviceIndex to) {
  const DeviceIndex maker = DeviceOf(maker_of_[static_cast<size_t>(tensor)]);
  const bool leaves = --Readers(tensor, from) == 0 && from != maker;
  const bool comes = Readers(tensor, to)++ == 0 && to != maker;
  if (leaves) CountReader(tensor, maker, from, -1);
  if (comes) CountReader(tensor, maker, to, 1);
  if (leaves == comes) return;
  // The maker sends it to one device more or less: that counts if it is the only one.
  int32_t others = 0;
  for (DeviceIndex d = 0; d < static_cast<DeviceIndex>(loads_us_.size()) && others < 2; ++d)
    others += d != maker && Readers(tensor, d) > 0 ? 1 : 0;
  if (comes && others == 1) CountSent(tensor, maker, to, 1);
  if (leaves && others == 0) CountSent(tensor, maker, from, -1);
}

void LoadState::Move(int32_t set, DeviceIndex to) {
  const DeviceIndex from = DeviceOf(set);
  if (from == to) return;
  const size_t row = static_cast<size_t>(set) * loads_us_.size();
  loads_us_[static_cast<size_t>(from)] -= work_us_[row + static_cast<size_t>(from)];
  loads_us_[static_cast<size_t>(to)] += work_us_[row + static_cast<size_t>(to)];
  param_bytes_[static_cast<size_t>(from)] -= ParamBytesOf(set);
  param_bytes_[static_cast<size_t>(to)] += ParamBytesOf(set);
  for (const int32_t tensor : read_by_.Row(set)) MoveReader(tensor, from, to);
  for (const int32_t tensor : made_by_.Row(set)) {
    CountMade(tensor, from, -1);
    CountMade(tensor, to, 1);
  }
  device_of_[static_cast<size_t>(set)] = to;
}

}  // namespace emplace
