#include "policy/placeto/kernel/placeto_kernel.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "common/error.h"
#include "common/strings.h"
#include "policy/placeto/kernel/kernel_plan.h"
#include "policy/placeto/kernel/network_walk.h"
#include "policy/placeto/placeto_shape.h"
#include "policy/simd/aligned_floats.h"

namespace emplace {
namespace {

KernelFunctions FunctionsOf(KernelPath path) {
#ifdef EMPLACE_KERNEL_X86
  if (path == KernelPath::kAvx512) return KernelFunctionsAvx512();
  if (path == KernelPath::kAvx2) return KernelFunctionsAvx2();
#endif
  EMPLACE_CHECK(path == KernelPath::kPortable);
  return KernelFunctionsPortable();
}

// Of the weights of one kernel: what a cache remembers is theirs.
uint64_t NextKernelId() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

size_t PackedFloats(const PlacetoShape& shape) {
  size_t floats = 0;
  for (const LayerSpec& layer : PlacetoLayers(shape)) {
    floats += static_cast<size_t>(layer.in + 1) * static_cast<size_t>(PadRow(layer.out));
  }
  return floats;
}

// Walks the flat parameter vector and packs one layer after the other, in the order of PlacetoLayers.
class Packer {
 public:
  Packer(const PolicyWeights& weights, float* packed)
      : layers_(PlacetoLayers(PlacetoShape::Of(weights.shape))), values_(weights.values.data()), packed_(packed) {}

  PackedLayer Layer() {
    const LayerSpec& spec = layers_[next_++];
    PackedLayer layer;
    layer.in = spec.in;
    layer.padded_out = PadRow(spec.out);
    layer.weight = packed_;
    for (int32_t out = 0; out < spec.out; ++out) {
      for (int32_t in = 0; in < spec.in; ++in) packed_[in * layer.padded_out + out] = *values_++;
    }
    packed_ += layer.in * layer.padded_out;
    layer.bias = packed_;
    packed_ = std::copy_n(values_, spec.out, packed_) + (layer.padded_out - spec.out);
    values_ += spec.out;
    return layer;
  }
  bool done() const { return next_ == layers_.size(); }

 private:
  std::vector<LayerSpec> layers_;
  size_t next_ = 0;
  const float* values_;
  float* packed_;
};

PackedPolicy Pack(const PolicyWeights& weights, float* packed) {
  const PlacetoShape shape = PlacetoShape::Of(weights.shape);
  PackedPolicy policy;
  policy.features = shape.node_features();
  policy.rounds = shape.message_rounds;
  policy.width = shape.width();
  policy.pooling = shape.pooling;
  Packer packer(weights, packed);
  ForEachLayer(policy.layers, [&](PackedLayer& layer, bool /*head*/) { layer = packer.Layer(); });
  EMPLACE_CHECK(packer.done());
  policy.feature_stride = policy.layers.self[0].padded_out;
  policy.width_stride = PadRow(policy.width);
  policy.embedding_stride = PadRow(policy.width + policy.width_stride);
  policy.inner_stride = policy.layers.pools[0].inner.output.padded_out;
  policy.pooled_stride = PadRow(shape.pooled_width());
  return policy;
}

StateView ViewOf(const PlacetoState& state) {
  const PlacetoGraph& graph = *state.graph;
  const size_t row = static_cast<size_t>(state.step) * static_cast<size_t>(graph.words());
  StateView view;
  view.num_nodes = graph.num_nodes;
  view.step = state.step;
  view.cost = graph.cost.data();
  view.bytes = graph.bytes.data();
  view.memory = graph.memory.data();
  view.placement = state.placement;
  view.start_times = state.start_times;
  view.from[0] = {graph.parents.begin.data(), graph.parents.items.data()};
  view.from[1] = {graph.children.begin.data(), graph.children.items.data()};
  view.ancestors = graph.ancestors.data() + row;
  view.descendants = graph.descendants.data() + row;
  return view;
}

}  // namespace

struct EpisodeCache::Impl {
  // Room for `num_nodes`.
  void Reserve(const PackedPolicy& policy);

  // Whom the memory below belongs to.
  uint64_t kernel = 0;
  const PlacetoGraph* graph = nullptr;
  int32_t num_nodes = 0;
  PlacetoShape shape;
  AlignedFloats floats;
  std::vector<uint8_t> bytes;
  EpisodeMemory memory;  // Points into `floats` and `bytes`.
};

void EpisodeCache::Impl::Reserve(const PackedPolicy& policy) {
  const auto nodes = static_cast<size_t>(num_nodes);
  const size_t row = nodes * static_cast<size_t>(policy.width_stride);
  const FloatPart parts[] = {
      {&memory.self, row},
      {&memory.message, 2 * static_cast<size_t>(policy.rounds) * row},
      {&memory.x, 2 * row},
      {&memory.inner, nodes * static_cast<size_t>(policy.inner_stride)},
  };
  AllocateParts(parts, floats);
  bytes.assign(2 * nodes, 0);
  memory.placement = bytes.data();
  memory.inner_set = bytes.data() + nodes;
}

EpisodeCache::EpisodeCache() : impl_(std::make_unique<Impl>()) {}
EpisodeCache::~EpisodeCache() = default;
EpisodeCache::EpisodeCache(EpisodeCache&&) noexcept = default;
EpisodeCache& EpisodeCache::operator=(EpisodeCache&&) noexcept = default;

struct PlacetoKernel::Impl {
  void Reserve(int32_t num_nodes);
  void ReserveHead(size_t num_states);
  // The cache's memory, valid only if it is of this kernel and graph.
  EpisodeMemory& MemoryFor(const PlacetoGraph& graph, EpisodeCache::Impl& cache) const;

  uint64_t id = NextKernelId();
  PlacetoShape shape;
  PolicyVersion version = 0;
  KernelPath path = KernelPath::kPortable;
  KernelFunctions functions;
  AlignedFloats packed;
  PackedPolicy policy;   // Points into `packed`.
  int32_t capacity = 0;  // Nodes that the scratch has room for.
  AlignedFloats floats;
  std::vector<int32_t> lists;
  std::vector<uint8_t> seen;
  KernelScratch scratch;     // Points into `floats`, `lists` and `seen`.
  size_t head_capacity = 0;  // States that the rows below have room for.
  AlignedFloats head_floats;
  float* pooled = nullptr;           // [states, pooled_stride], and the last one's overhang
  float* classifier_hidden[2] = {};  // [states, padded 2D], [states, padded D]
  float* logits = nullptr;           // [states, padded devices]
  EpisodeCache no_episode;           // Of states that come without a cache.
};

void PlacetoKernel::Impl::Reserve(int32_t num_nodes) {
  if (num_nodes <= capacity) return;
  capacity = num_nodes;
  const auto nodes = static_cast<size_t>(num_nodes);
  const auto rows = static_cast<size_t>(PadTile(num_nodes));
  const auto width = static_cast<size_t>(policy.width_stride);
  const auto embedding = static_cast<size_t>(policy.embedding_stride);
  const auto inner = static_cast<size_t>(policy.inner_stride);
  const auto features = static_cast<size_t>(policy.feature_stride);
  const size_t widest = std::max({width, inner, features});
  const FloatPart parts[] = {
      {&scratch.features, kTile * features},   {&scratch.x, rows * width},
      {&scratch.self, rows * width},           {&scratch.sum, kTile * width},
      {&scratch.embedding, kTile * embedding}, {&scratch.set_sum, inner},
      {&scratch.hidden[0], kTile * widest},    {&scratch.hidden[1], kTile * widest},
  };
  AllocateParts(parts, floats);
  const size_t levels = static_cast<size_t>(policy.rounds) + 1;
  lists.assign(5 * nodes + 1 + levels, 0);
  scratch.order = lists.data();
  scratch.members = scratch.order + nodes + 1;
  scratch.stale = scratch.members + 3 * nodes;
  scratch.level_end = scratch.stale + nodes;
  seen.assign(nodes, 0);
  scratch.seen = seen.data();
}

void PlacetoKernel::Impl::ReserveHead(size_t num_states) {
  if (num_states <= head_capacity) return;
  head_capacity = num_states;
  const auto width = [](int32_t stride) { return static_cast<size_t>(stride); };
  const FloatPart parts[] = {
      {&pooled, num_states * width(policy.pooled_stride) + kRowLanes},
      {&classifier_hidden[0], num_states * width(policy.layers.classifier[0].padded_out)},
      {&classifier_hidden[1], num_states * width(policy.layers.classifier[1].padded_out)},
      {&logits, num_states * width(policy.layers.classifier[2].padded_out)},
  };
  AllocateParts(parts, head_floats);
}

EpisodeMemory& PlacetoKernel::Impl::MemoryFor(const PlacetoGraph& graph, EpisodeCache::Impl& cache) const {
  if (cache.kernel != id || cache.graph != &graph || cache.num_nodes != graph.num_nodes) {
    // Weights change much more often than sizes: an actor's caches keep their memory from version to version.
    const bool fits = cache.num_nodes == graph.num_nodes && cache.shape == shape;
    cache.kernel = id;
    cache.graph = &graph;
    cache.num_nodes = graph.num_nodes;
    cache.shape = shape;
    if (!fits) cache.Reserve(policy);
    cache.memory.valid = false;
  }
  return cache.memory;
}

PlacetoKernel::PlacetoKernel(const PolicyWeights& weights, KernelPath path) {
  EMPLACE_CHECK(std::ssize(weights.values) == NumParameters(PlacetoShape::Of(weights.shape)));
  CheckRuns(path);
  impl_ = std::make_unique<Impl>();
  impl_->shape = PlacetoShape::Of(weights.shape);
  impl_->version = weights.version;
  impl_->path = path;
  impl_->functions = FunctionsOf(path);
  impl_->packed.Allocate(PackedFloats(impl_->shape));
  impl_->policy = Pack(weights, impl_->packed.data());
}

PlacetoKernel::~PlacetoKernel() = default;
PlacetoKernel::PlacetoKernel(PlacetoKernel&&) noexcept = default;
PlacetoKernel& PlacetoKernel::operator=(PlacetoKernel&&) noexcept = default;

const PlacetoShape& PlacetoKernel::shape() const { return impl_->shape; }
PolicyVersion PlacetoKernel::version() const { return impl_->version; }
KernelPath PlacetoKernel::path() const { return impl_->path; }

void PlacetoKernel::Forward(std::span<const PlacetoState> states, std::span<float> logits) {
  Forward(states, {}, logits);
}

void PlacetoKernel::Forward(std::span<const PlacetoState> states, std::span<EpisodeCache* const> caches,
                            std::span<float> logits) {
  const auto num_devices = static_cast<size_t>(impl_->shape.num_devices);
  EMPLACE_CHECK(logits.size() == states.size() * num_devices);
  EMPLACE_CHECK(caches.empty() || caches.size() == states.size());
  impl_->ReserveHead(states.size());
  for (size_t s = 0; s < states.size(); ++s) {
    const PlacetoGraph& graph = *states[s].graph;
    EMPLACE_CHECK(graph.num_devices == impl_->shape.num_devices);
    EMPLACE_CHECK(states[s].step >= 0 && states[s].step < graph.num_nodes);
    impl_->Reserve(graph.num_nodes);
    EpisodeMemory& memory = impl_->MemoryFor(graph, caches.empty() ? *impl_->no_episode.impl_ : *caches[s]->impl_);
    // Start times change from state to state for all nodes, so nothing of the last state is left.
    if (caches.empty() || impl_->shape.start_times) memory.valid = false;
    // In ascending order: a row's overhang is overwritten by the next row.
    float* const row = impl_->pooled + s * static_cast<size_t>(impl_->policy.pooled_stride);
    impl_->functions.pooled(impl_->policy, ViewOf(states[s]), memory, impl_->scratch, row);
  }
  impl_->functions.classify(impl_->policy, impl_->pooled, static_cast<int32_t>(states.size()),
                            impl_->classifier_hidden[0], impl_->classifier_hidden[1], impl_->logits);
  const auto stride = static_cast<size_t>(impl_->policy.layers.classifier[2].padded_out);
  for (size_t s = 0; s < states.size(); ++s) {
    const uint8_t* allowed = states[s].graph->allowed.data() + static_cast<size_t>(states[s].step) * num_devices;
    for (size_t device = 0; device < num_devices; ++device) {
      logits[s * num_devices + device] =
          allowed[device] != 0 ? impl_->logits[s * stride + device] : -std::numeric_limits<float>::infinity();
    }
  }
}

}  // namespace emplace
