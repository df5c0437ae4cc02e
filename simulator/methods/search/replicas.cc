#include "simulator/methods/search/replicas.h"

#include <algorithm>
#include <cmath>

namespace emplace {
namespace {

bool DevicesAreAlike(const SimGraph& sim) {
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  const auto devices = static_cast<std::ptrdiff_t>(sim.num_devices);
  for (auto row = sim.cost_us.begin(); row != sim.cost_us.end(); row += devices) {
    if (!std::all_of(row, row + devices, [&](double us) { return same(us, *row); })) return false;
  }
  return std::ranges::adjacent_find(sim.memory_bytes, std::not_equal_to()) == sim.memory_bytes.end();
}

}  // namespace

std::optional<Replicas> Replicas::Of(const PlacementTask& task) {
  if (!task.HasMicrobatches()) return std::nullopt;
  const int32_t microbatches = 1 + *std::ranges::max_element(task.microbatch_of_op);
  const int32_t devices = task.sim.num_devices;
  if (microbatches > devices || !DevicesAreAlike(task.sim)) return std::nullopt;
  int32_t count = microbatches;
  while (devices % count != 0) --count;
  if (count < 2) return std::nullopt;
  return Replicas(task, count);
}

Replicas::Replicas(const PlacementTask& task, int32_t count)
    : count_(count),
      width_(task.sim.num_devices / count),
      microbatch_of_op_(task.microbatch_of_op),
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
