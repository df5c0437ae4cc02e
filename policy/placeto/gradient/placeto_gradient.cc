#include "policy/placeto/gradient/placeto_gradient.h"

#include <algorithm>
#include <vector>

#include "common/error.h"
#include "policy/placeto/gradient/gradient_plan.h"
#include "policy/placeto/kernel/network_walk.h"
#include "policy/simd/aligned_floats.h"

namespace emplace {
namespace {

GradientPath PathOf(KernelPath path) {
#ifdef EMPLACE_KERNEL_X86
  if (path == KernelPath::kAvx512) return GradientPathAvx512();
  if (path == KernelPath::kAvx2) return GradientPathAvx2();
#endif
  EMPLACE_CHECK(path == KernelPath::kPortable);
  return GradientPathPortable();
}

}  // namespace

struct PlacetoGradient::Impl {
  Impl(const PlacetoShape& policy_shape, KernelPath kernel_path);

  int32_t Padded(int32_t width) const { return (width + path.lanes - 1) / path.lanes * path.lanes; }
  size_t WeightSumFloats(const GradientLayer& layer, bool head) const {
    return static_cast<size_t>(layer.out) * static_cast<size_t>(head ? Padded(layer.in) : layer.in * path.lanes);
  }
  void Reserve(int32_t num_nodes);
  void SetGraph(const PlacetoGraph& graph);
  // The states' lanes; the last one stands in for those that are missing.
  void SetStates(std::span<const PlacetoState> states);
  void AddSums(std::span<float> gradient) const;
  // Calls tile(first, count) for the states of each tile, which is set up.
  template <typename Function>
  void ForTiles(std::span<const PlacetoState> states, const Function& tile_function);

  const PlacetoShape shape;
  const GradientPath path;
  std::vector<float> values;
  AlignedFloats sums;
  GradientPolicy policy;  // Points into `values` and `sums`.
  int32_t capacity = 0;   // Nodes that the scratch has room for.
  AlignedFloats floats;
  std::vector<int32_t> members;
  GradientScratch scratch;  // Points into `floats` and `members`.
  std::vector<int32_t> receivers[2];
  GradientTile tile;
};

PlacetoGradient::Impl::Impl(const PlacetoShape& policy_shape, KernelPath kernel_path)
    : shape(policy_shape), path(PathOf(kernel_path)), values(static_cast<size_t>(NumParameters(shape))) {
  policy.features = shape.node_features();
  policy.num_features = shape.num_features();
  policy.rounds = shape.message_rounds;
  policy.width = shape.width();
  policy.pooling = shape.pooling;

  const std::vector<LayerSpec> specs = PlacetoLayers(shape);
  size_t next = 0;
  size_t sum_floats = 0;
  const float* value = values.data();
  ForEachLayer(policy.layers, [&](GradientLayer& layer, bool head) {
    const LayerSpec& spec = specs[next++];
    layer.in = spec.in;
    layer.out = spec.out;
    layer.weight = value;
    layer.bias = value + int64_t{spec.in} * spec.out;
    value = layer.bias + spec.out;
    sum_floats += WeightSumFloats(layer, head) + static_cast<size_t>(layer.out * path.lanes);
  });
  EMPLACE_CHECK(next == specs.size());
  sums.Allocate(sum_floats);
  float* sum = sums.data();
  ForEachLayer(policy.layers, [&](GradientLayer& layer, bool head) {
    layer.weight_sum = sum;
    layer.bias_sum = sum + WeightSumFloats(layer, head);
    sum = layer.bias_sum + layer.out * path.lanes;
  });
}

void PlacetoGradient::Impl::Reserve(int32_t num_nodes) {
  if (num_nodes <= capacity) return;
  capacity = num_nodes;
  const auto nodes = static_cast<size_t>(num_nodes);
  const auto width = static_cast<size_t>(shape.width());
  const auto features = static_cast<size_t>(shape.num_features());
  const auto embedding = static_cast<size_t>(shape.embedding_width());
  const auto pooled = static_cast<size_t>(shape.pooled_width());
  const auto devices = static_cast<size_t>(shape.num_devices);
  const size_t kept_rounds = static_cast<size_t>(std::max(0, 2 * (shape.message_rounds - 1)));
  const size_t widest = std::max(features, embedding);
  const auto widest_head = static_cast<size_t>(Padded(2 * shape.pooled_width()));

  const auto rows = [this](size_t count) { return count * static_cast<size_t>(path.lanes); };  // Of one float a lane.
  const FloatPart parts[] = {
      {&scratch.features, rows(nodes * features)},
      {&scratch.self, rows(nodes * width)},
      {&scratch.x, rows(nodes * width * std::max<size_t>(kept_rounds, 1))},
      {&scratch.embedding, rows(nodes * embedding)},
      {&scratch.message, rows(nodes * width)},
      {&scratch.hidden, rows(nodes * width)},
      {&scratch.mask, rows(3 * nodes)},
      {&scratch.set_sum, rows(3 * embedding)},
      {&scratch.outer_hidden, rows(3 * embedding)},
      {&scratch.pooled, rows(pooled)},
      {&scratch.classifier_hidden[0], rows(2 * pooled)},
      {&scratch.classifier_hidden[1], rows(pooled)},
      {&scratch.logits, rows(devices)},
      {&scratch.logit_delta, rows(devices)},
      {&scratch.classifier_delta[0], rows(2 * pooled)},
      {&scratch.classifier_delta[1], rows(pooled)},
      {&scratch.pooled_delta, rows(pooled)},
      {&scratch.outer_delta, rows(embedding)},
      {&scratch.set_delta, rows(3 * embedding)},
      {&scratch.embedding_delta, rows(nodes * embedding)},
      {&scratch.delta, rows(nodes * width)},
      {&scratch.sum_delta, rows(nodes * width)},
      {&scratch.self_delta, rows(nodes * width)},
      {&scratch.panel[0], rows(kPanel * widest)},
      {&scratch.panel[1], rows(kPanel * widest)},
      {&scratch.panel[2], rows(kPanel * widest)},
      {&scratch.panel[3], rows(kPanel * widest)},
      {&scratch.zeros, rows(widest)},
      {&scratch.trash, rows(widest)},
      {&scratch.transposed, rows(widest_head)},
  };
  AllocateParts(parts, floats);
  members.resize(3 * nodes);
  scratch.members = members.data();
  for (std::vector<int32_t>& list : receivers) list.reserve(nodes);
}

void PlacetoGradient::Impl::SetGraph(const PlacetoGraph& graph) {
  EMPLACE_CHECK(graph.num_devices == shape.num_devices);
  Reserve(graph.num_nodes);
  tile.num_nodes = graph.num_nodes;
  tile.cost = graph.cost.data();
  tile.bytes = graph.bytes.data();
  tile.memory = graph.memory.data();
  const Csr* const lists[] = {&graph.parents, &graph.children};
  for (size_t direction = 0; direction < 2; ++direction) {
    tile.from[direction] = {lists[direction]->begin.data(), lists[direction]->items.data()};
    receivers[direction].clear();
    for (int32_t node = 0; node < graph.num_nodes; ++node) {
      if (!lists[direction]->Row(node).empty()) receivers[direction].push_back(node);
    }
    tile.receivers[direction] = receivers[direction].data();
    tile.num_receivers[direction] = static_cast<int32_t>(receivers[direction].size());
  }
}

void PlacetoGradient::Impl::SetStates(std::span<const PlacetoState> states) {
  for (size_t lane = 0; lane < static_cast<size_t>(path.lanes); ++lane) {
    const PlacetoState& state = states[std::min(lane, states.size() - 1)];
    const PlacetoGraph& graph = *state.graph;
    EMPLACE_CHECK(state.step >= 0 && state.step < graph.num_nodes);
    const auto row = static_cast<size_t>(state.step) * static_cast<size_t>(graph.words());
    tile.placement[lane] = state.placement;
    tile.start_times[lane] = state.start_times;
    tile.step[lane] = state.step;
    tile.ancestors[lane] = graph.ancestors.data() + row;
    tile.descendants[lane] = graph.descendants.data() + row;
  }
}

template <typename Function>
void PlacetoGradient::Impl::ForTiles(std::span<const PlacetoState> states, const Function& tile_function) {
  const PlacetoGraph* graph = nullptr;
  for (size_t first = 0; first < states.size();) {
    if (states[first].graph != graph) {
      graph = states[first].graph;
      SetGraph(*graph);
    }
    size_t count = 1;
    while (count < static_cast<size_t>(path.lanes) && first + count < states.size() &&
           states[first + count].graph == graph) {
      ++count;
    }
    SetStates(states.subspan(first, count));
    tile_function(first, count);
    first += count;
  }
}

// Over the lanes, in their order.
void PlacetoGradient::Impl::AddSums(std::span<float> gradient) const {
  float* target = gradient.data();
  const auto lanes = static_cast<size_t>(path.lanes);
  const auto add_lanes = [&](const float* sum, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      float total = 0;
      for (size_t lane = 0; lane < lanes; ++lane) total += sum[i * lanes + lane];
      *target++ += total;
    }
  };
  ForEachLayer(policy.layers, [&](const GradientLayer& layer, bool head) {
    if (head) {
      for (int32_t out = 0; out < layer.out; ++out) {
        const float* const row = layer.weight_sum + int64_t{out} * Padded(layer.in);
        for (int32_t in = 0; in < layer.in; ++in) *target++ += row[in];
      }
    } else {
      add_lanes(layer.weight_sum, static_cast<size_t>(layer.in) * static_cast<size_t>(layer.out));
    }
    add_lanes(layer.bias_sum, static_cast<size_t>(layer.out));
  });
}

PlacetoGradient::PlacetoGradient(const PlacetoShape& shape, KernelPath path) {
  CheckRuns(path);
  impl_ = std::make_unique<Impl>(shape, path);
}
PlacetoGradient::~PlacetoGradient() = default;

void PlacetoGradient::SetWeights(std::span<const float> values) {
  EMPLACE_CHECK(values.size() == impl_->values.size());
  std::ranges::copy(values, impl_->values.begin());
}

void PlacetoGradient::Forward(std::span<const PlacetoState> states, std::span<float> logits) {
  const auto devices = static_cast<size_t>(impl_->shape.num_devices);
  const auto lanes = static_cast<size_t>(impl_->path.lanes);
  EMPLACE_CHECK(logits.size() == states.size() * devices);
  impl_->ForTiles(states, [&](size_t first, size_t count) {
    impl_->path.forward(impl_->policy, impl_->tile, impl_->scratch);
    for (size_t s = 0; s < count; ++s) {
      for (size_t d = 0; d < devices; ++d) logits[(first + s) * devices + d] = impl_->scratch.logits[d * lanes + s];
    }
  });
}

void PlacetoGradient::Backward(std::span<const PlacetoState> states, std::span<const float> logit_gradient,
                               std::span<float> gradient) {
  const auto devices = static_cast<size_t>(impl_->shape.num_devices);
  const auto lanes = static_cast<size_t>(impl_->path.lanes);
  EMPLACE_CHECK(logit_gradient.size() == states.size() * devices && gradient.size() == impl_->values.size());
  impl_->sums.Clear();
  impl_->ForTiles(states, [&](size_t first, size_t count) {
    for (size_t d = 0; d < devices; ++d) {
      for (size_t lane = 0; lane < lanes; ++lane) {
        impl_->scratch.logit_delta[d * lanes + lane] =
            lane < count ? logit_gradient[(first + lane) * devices + d] : 0.0F;
      }
    }
    impl_->path.backward(impl_->policy, impl_->tile, impl_->scratch);
  });
  impl_->AddSums(gradient);
}

}  // namespace emplace
