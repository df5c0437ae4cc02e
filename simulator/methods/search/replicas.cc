#include "simulator/methods/search/replicas.h"

#include <algorithm>
#include <span>

#include "common/disjoint_sets.h"
#include "simulator/task/equal_devices.h"

namespace emplace {
namespace {

bool AllAreAlike(const SimGraph& sim) {
  for (DeviceIndex device = 1; device < sim.num_devices; ++device) {
    if (!AreAlike(sim, 0, device)) return false;
  }
  return true;
}

// [n] the micro-batch of each op; -1 for those that are shared, and for those that must stay together with ops of which
// not all micro-batches have a copy that stays together with the copies of the others.
std::vector<int32_t> MatchingMicrobatches(const PlacementTask& task) {
  const std::vector<GroupIndex>& unit_of_op = task.levels->Finest();
  const Csr units = CsrFromPairs(CountOf(unit_of_op), [&](auto visit) {
    for (OpIndex op = 0; op < task.sim.num_ops; ++op) visit(unit_of_op[static_cast<size_t>(op)], op);
  });
  const auto microbatch = [&](OpIndex op) { return task.microbatch_of_op[static_cast<size_t>(op)]; };
  std::vector<std::vector<OpIndex>> originals_of(static_cast<size_t>(units.rows()));  // What its ops repeat, in order.
  std::vector<int32_t> first_unit_with(unit_of_op.size(), -1);                        // Of an op or a copy of it.
  std::vector<uint8_t> differs(unit_of_op.size());
  DisjointSets joined(task.sim.num_ops);  // Ops whose copies have to match together.
  for (int32_t unit = 0; unit < units.rows(); ++unit) {
    const std::span<const OpIndex> ops = units.Row(unit);
    std::vector<OpIndex>& originals = originals_of[static_cast<size_t>(unit)];
    for (const OpIndex op : ops) originals.push_back(task.copy_of_op[static_cast<size_t>(op)]);
    std::ranges::sort(originals);
    const OpIndex front = originals.front();
    const int32_t first = first_unit_with[static_cast<size_t>(front)];
    bool matches = first < 0 || originals_of[static_cast<size_t>(first)] == originals;
    for (const OpIndex op : ops) matches = matches && microbatch(op) == microbatch(ops.front());
    for (const OpIndex original : originals) {
      int32_t& first_with = first_unit_with[static_cast<size_t>(original)];
      matches = matches && (first_with == first || first_with == unit);
      if (first_with < 0) first_with = unit;
      joined.Join(original, front);
    }
    if (!matches) differs[static_cast<size_t>(front)] = 1;
  }
  std::vector<uint8_t> any_differs(unit_of_op.size());
  for (OpIndex op = 0; op < task.sim.num_ops; ++op)
    any_differs[static_cast<size_t>(joined.Find(op))] |= differs[static_cast<size_t>(op)];
  std::vector<int32_t> microbatch_of_op = task.microbatch_of_op;
  for (size_t o = 0; o < microbatch_of_op.size(); ++o) {
    if (any_differs[static_cast<size_t>(joined.Find(task.copy_of_op[o]))] == 1) microbatch_of_op[o] = -1;
  }
  return microbatch_of_op;
}

}  // namespace

std::optional<Replicas> Replicas::Of(const PlacementTask& task) {
  const int32_t microbatches = task.NumMicrobatches();
  if (microbatches == 1) return std::nullopt;
  const int32_t devices = task.sim.num_devices;
  if (microbatches > devices || !AllAreAlike(task.sim)) return std::nullopt;
  int32_t count = microbatches;
  while (devices % count != 0) --count;
  if (count < 2) return std::nullopt;
  return Replicas(task, count);
}

Replicas::Replicas(const PlacementTask& task, int32_t count)
    : count_(count),
      width_(task.sim.num_devices / count),
      microbatch_of_op_(MatchingMicrobatches(task)),
      copy_of_op_(task.copy_of_op),
      copies_(CsrFromPairs(task.sim.num_ops, [&](auto visit) {
        for (OpIndex op = 0; op < task.sim.num_ops; ++op) {
          if (microbatch_of_op_[static_cast<size_t>(op)] >= 0) visit(copy_of_op_[static_cast<size_t>(op)], op);
        }
      })) {}

OpIndex Replicas::StandInOf(OpIndex op) const {
  const int32_t replica = ReplicaOf(op);
  if (replica < 0) return op;
  const int32_t wanted = microbatch_of_op_[static_cast<size_t>(op)] - replica;
  const OpIndex first = copy_of_op_[static_cast<size_t>(op)];
  for (const OpIndex copy : copies_.Row(first)) {
    if (microbatch_of_op_[static_cast<size_t>(copy)] == wanted) return copy;
  }
  return first;  // That micro-batch lacks the op.
}

void Replicas::Mirror(const Move& move, Move& mirrored) const {
  mirrored.clear();
  for (const OpMove& to : move) {
    const int32_t replica = ReplicaOf(to.op);
    if (replica < 0) {
      mirrored.push_back(to);
      continue;
    }
    const int32_t further = width_ > 1 ? 0 : to.device - replica + count_;
    for (const OpIndex copy : copies_.Row(copy_of_op_[static_cast<size_t>(to.op)])) {
      const int32_t to_replica = (ReplicaOf(copy) + further) % count_;
      mirrored.push_back({copy, to_replica * width_ + to.device % width_});
    }
  }
  std::ranges::sort(mirrored, {}, &OpMove::op);
  for (size_t i = 1; i < mirrored.size(); ++i) {
    if (mirrored[i].op == mirrored[i - 1].op && mirrored[i].device != mirrored[i - 1].device) return mirrored.clear();
  }
  const auto same_op = [](const OpMove& a, const OpMove& b) { return a.op == b.op; };
  mirrored.erase(std::unique(mirrored.begin(), mirrored.end(), same_op), mirrored.end());
}

}  // namespace emplace
