#include "policy/placeto/cuda/device_problem.h"

#include <algorithm>
#include <bit>

#include "common/error.h"
#include "policy/placeto/cuda/launches.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"

namespace emplace::gpu {
namespace {

// Some room to spare, so that batches of varying size soon find theirs.
int32_t Roomy(int32_t needed, int32_t have) {
  constexpr uint32_t kLeast = 256;
  const uint32_t wanted = std::max(kLeast, static_cast<uint32_t>(std::max(needed, have)));
  return wanted > uint32_t{1} << 30 ? needed : static_cast<int32_t>(std::bit_ceil(wanted));
}

}  // namespace

DeviceProblem::DeviceProblem(const PlacetoShape& shape, std::span<const PlacetoGraph* const> graphs,
                             int64_t shared_limit)
    : graphs_(graphs, shape.num_devices), graph_memory_(graphs_.bytes().size()) {
  common_.plan = MakePlacetoPlan(shape);
  common_.max_nodes = graphs_.max_nodes();
  common_.sizes = ChooseLaunchSizes(common_.plan, common_.max_nodes, shared_limit);
  Check(cudaMemcpy(graph_memory_.data(), graphs_.bytes().data(), graphs_.bytes().size(), cudaMemcpyHostToDevice),
        "cannot copy the graphs");
  Check(cudaDeviceSynchronize(), "work on the device failed");  // Other streams do not wait for the default one.
  common_.graphs = graphs_.View(graph_memory_.data());
}

void DeviceProblem::Grow(const BatchCapacity& needed) {
  capacity_ = {Roomy(needed.states, capacity_.states), Roomy(needed.episodes, capacity_.episodes),
               Roomy(needed.steps, capacity_.steps)};
  const size_t bytes = BatchBytes(capacity_);
  for (Slot& slot : slots_) {
    slot.host = PinnedMemory(bytes);
    slot.device = DeviceMemory(bytes);
    slot.view = ViewBatch(capacity_, slot.device.data());
  }
  work_memory_ = DeviceMemory();  // Before the larger one is taken.
  work_memory_ = DeviceMemory(WorkspaceBytes(common_.plan, common_.sizes, common_.max_nodes, capacity_.states));
  common_.work = ViewWorkspace(common_.plan, common_.sizes, common_.max_nodes, capacity_.states, work_memory_.data());
}

void DeviceProblem::CopyBatch(int32_t slot, std::span<const EpisodeSource> episodes, std::span<const StateEntry> states,
                              const UpdateScalars& scalars, cudaStream_t stream) {
  EMPLACE_CHECK(!states.empty());
  Slot& place = slots_[static_cast<size_t>(slot)];
  WriteBatch(graphs_, episodes, states, scalars, common_.sizes.small_nodes, ViewBatch(capacity_, place.host.data()));
  Check(cudaMemcpyAsync(place.device.data(), place.host.data(), BatchBytes(capacity_), cudaMemcpyHostToDevice, stream),
        "cannot copy a batch");
}

Problem DeviceProblem::problem(int32_t slot) const {
  Problem problem = common_;
  problem.batch = slots_[static_cast<size_t>(slot)].view;
  return problem;
}

}  // namespace emplace::gpu
