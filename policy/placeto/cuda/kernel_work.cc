#include "policy/placeto/cuda/kernel_work.h"

#include <algorithm>

#include "policy/placeto/cuda/pipeline.h"

namespace emplace::gpu {
namespace {

constexpr double kFloat = sizeof(float);
constexpr double kDouble = sizeof(double);

// "Launches" kernels by noting their work.
class WorkCounter {
 public:
  WorkCounter(const Problem& problem, const UpdateLoad& load)
      : plan_(problem.plan), sizes_(problem.sizes), max_nodes_(problem.max_nodes), load_(load) {}

  template <typename Kernel>
  void Launch(const Kernel& kernel, int32_t /*blocks*/, int32_t /*threads*/, int64_t /*shared_bytes*/) {
    const Work work = Of(kernel);
    counted_.push_back({Kernel::kName, work.flops, work.bytes});
  }

  std::vector<KernelWork> counted() const { return counted_; }

 private:
  struct Work {
    double flops;
    double bytes;
  };

  // Of one row.
  double LayerFlops(int32_t layer) const {
    return 2.0 * plan_.layers[layer].in_padded * plan_.layers[layer].out_padded;
  }
  double LayersFlops(int32_t first, int32_t count) const {
    double flops = 0;
    for (int32_t layer = first; layer < first + count; ++layer) flops += LayerFlops(layer);
    return flops;
  }
  // Of the weights of the head or of the body, in one of their two packed forms.
  double WeightBytes(bool head) const {
    double floats = 0;
    for (int32_t layer = 0; layer < kNumLayers; ++layer) {
      if (IsHeadLayer(layer) == head) floats += (plan_.layers[layer].in_padded + 1.0) * plan_.layers[layer].out_padded;
    }
    return floats * kFloat;
  }

  bool pooling() const { return plan_.pooling != 0; }
  double states() const { return load_.small.count + load_.large.count; }
  double embedding() const { return plan_.embedding_padded; }
  double hidden() const { return plan_.layers[kClassifier].out_padded + plan_.layers[kClassifier + 1].out_padded; }

  // The body's parts, over all of these states.
  double SelfFlops(const UpdateLoad::States& on) const { return on.nodes * LayersFlops(kSelf, 3); }
  double RoundsFlops(const UpdateLoad::States& on) const {
    return on.nodes * plan_.rounds * LayersFlops(kDirections, 2 * kLayersPerDirection);
  }
  double PoolsFlops(const UpdateLoad::States& on) const {
    // Each node but the current one is in one of the three sets, whose layers have one shape.
    return pooling() ? (on.nodes - on.count) * LayersFlops(kPools, 2) : 0;
  }
  // What the body hands to the head for each state: the sums over the sets and the current node's own embedding.
  double HandedBytes(const UpdateLoad::States& on) const {
    return on.count * (pooling() ? kNumPools + 1 : 1) * embedding() * kFloat;
  }
  // The head's layers, over all states.
  double HeadFlops() const {
    double flops = LayersFlops(kClassifier, 3);
    for (int32_t set = 0; pooling() && set < kNumPools; ++set)
      flops += LayersFlops(kPools + kLayersPerPool * set + 2, 2);
    return states() * flops;
  }
  // `count` arrays of a row for each set, and `others` floats, for each state.
  double HeadBytes(double count, double others) const {
    return states() * ((pooling() ? count * kNumPools * embedding() : 0) + others) * kFloat;
  }
  // Memory that blocks work in: no more blocks than states come to use it.
  static double BlockBytes(int32_t blocks, const UpdateLoad::States& on, int64_t floats) {
    return std::min<double>(blocks, on.count) * static_cast<double>(floats) * kFloat;
  }

  Work Of(const PackKernel& /*kernel*/) const { return {0, (plan_.parameters + plan_.packed_floats) * kFloat}; }
  template <bool kShared>
  Work Of(const BodyForwardKernel<kShared>& /*kernel*/) const {
    const UpdateLoad::States& on = kShared ? load_.small : load_.large;
    const double arenas = kShared ? 0 : BlockBytes(sizes_.forward_blocks, on, ForwardArenaFloats(plan_, max_nodes_));
    return {SelfFlops(on) + RoundsFlops(on) + PoolsFlops(on),
            WeightBytes(false) + load_.input_bytes + arenas + HandedBytes(on)};
  }
  Work Of(const HeadForwardKernel& /*kernel*/) const {
    // Sums and pool_hidden; pooled, the hidden layers and logits.
    return {HeadFlops(), WeightBytes(true) + HeadBytes(2, 4 * embedding() + hidden() + plan_.devices_padded)};
  }
  Work Of(const LossKernel& /*kernel*/) const {
    constexpr double kResults = 3;  // Loss, entropy and ratio.
    constexpr double kEntry = sizeof(StateEntry);
    return {0, states() * ((2 * plan_.devices_padded + kResults) * kFloat + kEntry)};
  }
  Work Of(const HeadBackwardKernel& /*kernel*/) const {
    // pool_hidden and its gradient, the gradient of the sums; pooled and the hidden layers with their gradients, that
    // of the logits.
    return {HeadFlops(), WeightBytes(true) + HeadBytes(3, 8 * embedding() + 2 * hidden() + plan_.devices_padded)};
  }
  Work Of(const HeadGradientKernel& /*kernel*/) const {
    // Sums, pool_hidden, and the gradients of pool_hidden and of three parts of pooled; pooled, the hidden layers with
    // their gradients, the gradient of the logits.
    return {HeadFlops(), HeadBytes(4, 4 * embedding() + 2 * hidden() + plan_.devices_padded) +
                             kHeadSlices * static_cast<double>(plan_.head_parameters) * kFloat};
  }
  template <bool kShared>
  Work Of(const BodyBackwardKernel<kShared>& /*kernel*/) const {
    const UpdateLoad::States& on = kShared ? load_.small : load_.large;
    // Forward once more, but for the sets.
    const double again = SelfFlops(on) + RoundsFlops(on);
    // Of each part forward, the gradient of the inputs and that of the weights; but for the gradient of the features.
    const double back = 3 * (SelfFlops(on) + RoundsFlops(on) + PoolsFlops(on)) - on.nodes * LayerFlops(kSelf);
    const double arenas =
        kShared ? 0
                : BlockBytes(sizes_.backward_blocks, on, BackwardArenaFloats(plan_, max_nodes_, sizes_.body_threads));
    return {again + back, 2 * WeightBytes(false) + load_.input_bytes + arenas + HandedBytes(on) +
                              BlockBytes(sizes_.backward_blocks, on, ScratchFloats(plan_, max_nodes_)) +
                              sizes_.backward_blocks * static_cast<double>(plan_.body_parameters) * kFloat};
  }
  Work Of(const ReduceKernel& /*kernel*/) const {
    const double partials = sizes_.backward_blocks * static_cast<double>(plan_.body_parameters) +
                            kHeadSlices * static_cast<double>(plan_.head_parameters);
    return {partials, (partials + plan_.parameters) * kFloat + plan_.chunks * kDouble};
  }
  Work Of(const FinishKernel& /*kernel*/) const {
    constexpr double kSums = 3;  // Loss, entropy and ratio.
    return {0, states() * kSums * kFloat + plan_.chunks * kDouble};
  }
  Work Of(const AdamKernel& /*kernel*/) const {
    // Reads the gradient; reads and writes weights and both moments; writes the copy.
    constexpr double kArrays = 8;
    return {0, kArrays * plan_.parameters * kFloat};
  }

  const PlacetoPlan& plan_;
  const LaunchSizes& sizes_;
  const int32_t max_nodes_;
  const UpdateLoad& load_;
  std::vector<KernelWork> counted_;
};

}  // namespace

UpdateLoad LoadOf(const CompactGraphs& graphs, std::span<const EpisodeSource> episodes,
                  std::span<const StateEntry> states, int32_t small_nodes) {
  UpdateLoad load;
  for (const StateEntry& state : states) {
    const EpisodeSource& episode = episodes[static_cast<size_t>(state.episode)];
    const int32_t nodes = graphs.num_nodes(static_cast<size_t>(episode.graph));
    UpdateLoad::States& on = nodes <= small_nodes ? load.small : load.large;
    ++on.count;
    on.nodes += nodes;
  }
  load.input_bytes =
      static_cast<double>(graphs.bytes().size() + BatchBytes(CapacityFor(graphs, episodes, states.size())));
  return load;
}

std::vector<KernelWork> UpdateWork(const Problem& problem, const UpdateLoad& load) {
  WorkCounter counter(problem, load);
  LaunchUpdate(counter, problem, OptimizerState{}, nullptr, nullptr);
  return counter.counted();
}

}  // namespace emplace::gpu
