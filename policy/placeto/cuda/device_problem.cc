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
    : graphs_(graphs, shape.num_devices), graph_memory_(AllocateDevice(graphs_.bytes().size())) {
  problem_.plan = MakePlacetoPlan(shape);
  problem_.max_nodes = graphs_.max_nodes();
  problem_.sizes = ChooseLaunchSizes(problem_.plan, problem_.max_nodes, shared_limit);
  Check(cudaMemcpy(graph_memory_.get(), graphs_.bytes().data(), graphs_.bytes().size(), cudaMemcpyHostToDevice),
        "cannot copy the graphs");
  Check(cudaDeviceSynchronize(), "work on the device failed");  // Other streams do not wait for the default one.
  problem_.graphs = graphs_.View(graph_memory_.get());
}

void DeviceProblem::Grow(const BatchCapacity& needed) {
  capacity_ = {Roomy(needed.states, capacity_.states), Roomy(needed.episodes, capacity_.episodes),
               Roomy(needed.steps, capacity_.steps)};
  const size_t bytes = BatchBytes(capacity_);
  host_batch_ = AllocatePinned(bytes);
  batch_memory_ = AllocateDevice(bytes);
  problem_.batch = ViewBatch(capacity_, batch_memory_.get());
  work_memory_.reset();  // Before the larger one is taken.
  work_memory_ = AllocateDevice(WorkspaceBytes(problem_.plan, problem_.sizes, problem_.max_nodes, capacity_.states));
  problem_.work =
      ViewWorkspace(problem_.plan, problem_.sizes, problem_.max_nodes, capacity_.states, work_memory_.get());
}

void DeviceProblem::CopyBatch(std::span<const EpisodeSource> episodes, std::span<const StateEntry> states,
                              const UpdateScalars& scalars, cudaStream_t stream) {
  EMPLACE_CHECK(!states.empty());
  WriteBatch(graphs_, episodes, states, scalars, problem_.sizes.small_nodes, ViewBatch(capacity_, host_batch_.get()));
  Check(cudaMemcpyAsync(batch_memory_.get(), host_batch_.get(), BatchBytes(capacity_), cudaMemcpyHostToDevice, stream),
        "cannot copy a batch");
}

}  // namespace emplace::gpu
