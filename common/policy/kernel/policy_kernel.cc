#include "common/policy/kernel/policy_kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/error.h"
#include "common/policy/kernel/policy_kernel_plan.h"
#include "common/policy/simd/aligned_floats.h"

namespace emplace {
namespace {

ForwardFunction FunctionOf(KernelPath path) {
#ifdef EMPLACE_KERNEL_X86
  if (path != KernelPath::kPortable) return &ForwardAvx2;
#endif
  EMPLACE_CHECK(path == KernelPath::kPortable);
  return &ForwardPortable;
}

size_t PackedFloats(const PolicyShape& shape) {
  size_t floats = 0;
  for (const LayerSpec& layer : PolicyLayers(shape)) {
    floats += static_cast<size_t>(layer.in + 1) * static_cast<size_t>(PadToLanes(layer.out));
  }
  return floats;
}

// Walks the flat parameter vector and packs one layer after the other, in the order of PolicyLayers.
class Packer {
 public:
  Packer(const PolicyWeights& weights, float* packed)
      : layers_(PolicyLayers(weights.shape)), values_(weights.values.data()), packed_(packed) {}

  PackedLayer Layer() {
    const LayerSpec& spec = layers_[next_++];
    PackedLayer layer;
    layer.in = spec.in;
    layer.padded_out = PadToLanes(spec.out);
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
  PackedMlp Mlp() {
    PackedMlp mlp;
    mlp.hidden = Layer();
    mlp.output = Layer();
    return mlp;
  }
  bool done() const { return next_ == layers_.size(); }

 private:
  std::vector<LayerSpec> layers_;
  size_t next_ = 0;
  const float* values_;
  float* packed_;
};

PackedPolicy Pack(const PolicyWeights& weights, float* packed) {
  PackedPolicy policy;
  policy.num_devices = weights.shape.num_devices;
  policy.memory_feature = weights.shape.memory_feature;
  policy.message_rounds = weights.shape.message_rounds;
  policy.width = weights.shape.width();
  Packer packer(weights, packed);
  for (PackedLayer& layer : policy.self) layer = packer.Layer();
  for (PackedDirection* direction : {&policy.forward, &policy.backward}) {
    direction->f = packer.Mlp();
    direction->g = packer.Mlp();
  }
  for (PackedPool* pool : {&policy.ancestors, &policy.descendants, &policy.neither}) {
    pool->inner = packer.Mlp();
    pool->outer = packer.Mlp();
  }
  for (PackedLayer& layer : policy.classifier) layer = packer.Layer();
  EMPLACE_CHECK(packer.done());
  policy.feature_stride = policy.self[0].padded_out;
  policy.width_stride = PadToLanes(policy.width);
  policy.embedding_stride = PadToLanes(policy.width + policy.width_stride);
  return policy;
}

StateView ViewOf(const PolicyState& state) {
  const PolicyGraph& graph = *state.graph;
  const size_t row = static_cast<size_t>(state.step) * static_cast<size_t>(graph.words());
  StateView view;
  view.num_nodes = graph.num_nodes;
  view.step = state.step;
  view.cost = graph.cost.data();
  view.bytes = graph.bytes.data();
  view.memory = graph.memory.data();
  view.placement = state.placement;
  view.parents = {graph.parents.begin.data(), graph.parents.items.data()};
  view.children = {graph.children.begin.data(), graph.children.items.data()};
  view.ancestors = graph.ancestors.data() + row;
  view.descendants = graph.descendants.data() + row;
  return view;
}

}  // namespace

struct PolicyKernel::Impl {
  PolicyShape shape;
  PolicyVersion version = 0;
  KernelPath path = KernelPath::kPortable;
  ForwardFunction forward = nullptr;
  AlignedFloats packed;
  PackedPolicy policy;  // Points into `packed`.
  int32_t capacity = 0;  // Nodes that the scratch has room for.
  AlignedFloats floats;
  std::vector<int32_t> lists;
  KernelScratch scratch;  // Points into `floats` and `lists`.

  void Reserve(int32_t num_nodes);
};

void PolicyKernel::Impl::Reserve(int32_t num_nodes) {
  if (num_nodes <= capacity) return;
  capacity = num_nodes;
  const auto nodes = static_cast<size_t>(num_nodes);
  const auto padded = [](int32_t width) { return static_cast<size_t>(PadToLanes(width)); };
  const size_t width = padded(shape.width());
  const size_t embedding = padded(shape.embedding_width());
  const size_t pooled = padded(shape.pooled_width());
  const size_t features = padded(shape.num_features());
  // Of a tile in an MLP, of a tile in the self MLP, of the classifier.
  const size_t hidden = std::max({kTile * embedding, kTile * 2 * features, padded(2 * shape.pooled_width()) + pooled});

  struct Part {
    float** pointer;
    size_t floats;
  };
  const Part parts[] = {
      {&scratch.features, nodes * features},
      {&scratch.self, nodes * width},
      {&scratch.x, nodes * width},
      {&scratch.message, nodes * width},
      {&scratch.sum, std::max(nodes * width, embedding)},
      {&scratch.embedding, nodes * static_cast<size_t>(policy.embedding_stride)},
      {&scratch.inner, nodes * embedding},
      {&scratch.pooled, pooled + kLanes},
      {&scratch.hidden, hidden},
      {&scratch.logits, padded(shape.num_devices)},
  };
  size_t total = 0;
  for (const Part& part : parts) total += part.floats;
  floats.Allocate(total);
  float* next = floats.data();
  for (const Part& part : parts) {
    *part.pointer = next;
    next += part.floats;
  }
  lists.assign(2 * nodes, 0);
  scratch.senders = lists.data();
  scratch.receivers = lists.data() + nodes;
}

PolicyKernel::PolicyKernel(const PolicyWeights& weights, KernelPath path) : impl_(std::make_unique<Impl>()) {
  EMPLACE_CHECK(std::ssize(weights.values) == NumParameters(weights.shape));
  CheckRuns(path);
  impl_->shape = weights.shape;
  impl_->version = weights.version;
  impl_->path = path;
  impl_->forward = FunctionOf(path);
  impl_->packed.Allocate(PackedFloats(weights.shape));
  impl_->policy = Pack(weights, impl_->packed.data());
}

PolicyKernel::~PolicyKernel() = default;
PolicyKernel::PolicyKernel(PolicyKernel&&) noexcept = default;
PolicyKernel& PolicyKernel::operator=(PolicyKernel&&) noexcept = default;

const PolicyShape& PolicyKernel::shape() const { return impl_->shape; }
PolicyVersion PolicyKernel::version() const { return impl_->version; }
KernelPath PolicyKernel::path() const { return impl_->path; }

void PolicyKernel::Forward(std::span<const PolicyState> states, std::span<float> logits) {
  const auto num_devices = static_cast<size_t>(impl_->shape.num_devices);
  EMPLACE_CHECK(logits.size() == states.size() * num_devices);
  for (size_t s = 0; s < states.size(); ++s) {
    const PolicyGraph& graph = *states[s].graph;
    EMPLACE_CHECK(graph.num_devices == impl_->shape.num_devices);
    EMPLACE_CHECK(states[s].step >= 0 && states[s].step < graph.num_nodes);
    impl_->Reserve(graph.num_nodes);
    impl_->forward(impl_->policy, ViewOf(states[s]), impl_->scratch);
    const uint8_t* allowed = graph.allowed.data() + static_cast<size_t>(states[s].step) * num_devices;
    for (size_t device = 0; device < num_devices; ++device) {
      logits[s * num_devices + device] =
          allowed[device] != 0 ? impl_->scratch.logits[device] : -std::numeric_limits<float>::infinity();
    }
  }
}

}  // namespace emplace
