#include "policy/placeto/cuda/placeto_plan.h"

#include <limits>
#include <vector>

#include "common/error.h"

namespace emplace::gpu {

PlacetoPlan MakePlacetoPlan(const PlacetoShape& shape) {
  const std::vector<LayerSpec> specs = PlacetoLayers(shape);
  EMPLACE_CHECK(specs.size() == kNumLayers && specs[kDirections].name == "forward.f.0" &&
                specs[kPools].name == "ancestors.F.0" && specs[kClassifier].name == "classifier.0");
  EMPLACE_CHECK(!shape.start_times);
  // Offsets are 32 bits; the packed form is the longest.
  EMPLACE_CHECK(NumParameters(shape) < std::numeric_limits<int32_t>::max() / 8);

  PlacetoPlan plan{};
  plan.num_devices = shape.num_devices;
  plan.devices_padded = PadToFour(shape.num_devices);
  plan.memory_feature = shape.memory_feature ? 1 : 0;
  plan.pooling = shape.pooling ? 1 : 0;
  plan.rounds = shape.message_rounds;
  plan.features = shape.num_features();
  plan.features_padded = PadToFour(plan.features);
  plan.width = shape.width();
  plan.width_padded = PadToFour(plan.width);
  plan.embedding = shape.embedding_width();
  plan.embedding_padded = PadToFour(plan.embedding);
  for (int32_t i = 0; i < kNumLayers; ++i) {
    LayerPlan& layer = plan.layers[i];
    layer.in = specs[static_cast<size_t>(i)].in;
    layer.out = specs[static_cast<size_t>(i)].out;
    layer.segment = i == kClassifier ? plan.embedding : layer.in;
    layer.segment_padded = PadToFour(layer.segment);
    layer.in_padded = layer.in / layer.segment * layer.segment_padded;
    layer.out_padded = PadToFour(layer.out);
    layer.flat = plan.parameters;
    plan.parameters += layer.parameters();
    layer.forward = plan.packed_floats;
    layer.bias = layer.forward + layer.in_padded * layer.out_padded;
    layer.backward = layer.bias + layer.out_padded;
    plan.packed_floats = layer.backward + layer.in_padded * layer.out_padded;
    int32_t& partials = IsHeadLayer(i) ? plan.head_parameters : plan.body_parameters;
    layer.partial = partials;
    partials += layer.parameters();
    layer.chunk = plan.chunks;
    plan.chunks += DivideUp(layer.parameters(), kReduceChunk);
  }
  return plan;
}

}  // namespace emplace::gpu
