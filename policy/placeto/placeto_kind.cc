#include "policy/placeto/placeto_kind.h"

#include <cmath>

#include "policy/fields_kind.h"
#include "policy/placeto/placeto_onnx.h"

namespace emplace {
namespace {

FieldTable<PlacetoConfig> PlacetoFields() {
  using C = PlacetoConfig;
  FieldTable<C> t;
  t.Field("message_rounds", &C::message_rounds)
      .Range(0, 64)
      .Help("Number of rounds of message passing in each direction (k).");
  t.Field("message_width", &C::message_width)
      .Range(0, 256)
      .Help("Number of floats in a message (m). 0: as many as a group has features.");
  t.Field("memory_feature", &C::memory_feature).Help("Whether the memory that a group needs is one of its features.");
  t.Field("pooling", &C::pooling)
      .Help(
          "Whether the policy pools over ancestors, descendants and the other groups; false serves to measure what "
          "pooling is worth.");
  t.Field("start_times", &C::start_times)
      .Help(
          "Whether a feature of a group is when it starts in the simulated run of the placement that the policy sees, "
          "as "
          "a share of the makespan. Each state is then simulated once more, by the learner too, and only the CPU can "
          "train.");
  AddOutputScale(t);
  return t;
}

class Placeto final : public FieldsKind<PlacetoConfig> {
 public:
  Placeto() : FieldsKind("placeto", PlacetoFields()) {}

  std::vector<SizeField> Sizes() const override { return PlacetoSizes(); }
  std::vector<RetiredSize> RetiredSizes() const override { return {{"earlier_decisions", 1}, {"link_time", 0}}; }
  RewardTime reward_time() const override { return RewardTime::kEachDecision; }

  PolicyShape Shape(const PolicyConfig& config, int32_t num_devices) const override {
    const auto own = OwnOf(config);
    return PlacetoShape{.num_devices = num_devices,
                        .memory_feature = own.memory_feature,
                        .message_rounds = static_cast<int32_t>(own.message_rounds),
                        .message_width = static_cast<int32_t>(own.message_width),
                        .pooling = own.pooling,
                        .start_times = own.start_times};
  }

  std::vector<ParameterSpec> Parameters(const PolicyShape& shape) const override {
    std::vector<ParameterSpec> parameters;
    for (const LayerSpec& layer : PlacetoLayers(PlacetoShape::Of(shape))) {
      AddLinear(layer.name, layer.in, layer.out, parameters);
    }
    return parameters;
  }

  std::vector<float> InitialValues(const PolicyShape& shape, const PolicyConfig& config, Rng rng) const override {
    return InitialPlaceto(PlacetoShape::Of(shape), rng, OwnOf(config).output_scale).values;
  }

  std::string ToOnnx(const PolicyWeights& weights) const override { return PlacetoToOnnx(weights); }
};

}  // namespace

const PolicyKind& PlacetoKind() {
  static const Placeto kind;
  return kind;
}

PolicyWeights InitialPlaceto(const PlacetoShape& shape, Rng rng, double output_scale) {
  PolicyWeights weights;
  weights.shape = shape;
  const std::vector<LayerSpec> layers = PlacetoLayers(shape);
  for (const LayerSpec& layer : layers) {
    const double limit = std::sqrt(6.0 / (layer.in + layer.out));  // Glorot and Bengio 2010, equation 16.
    for (int64_t i = 0; i < int64_t{layer.in} * layer.out; ++i) {
      weights.values.push_back(static_cast<float>(rng.Uniform(-limit, limit)));
    }
    weights.values.insert(weights.values.end(), static_cast<size_t>(layer.out), 0.0F);
  }
  const LayerSpec& last = layers.back();
  const auto tail = static_cast<std::ptrdiff_t>((int64_t{last.in} + 1) * last.out);
  for (auto value = weights.values.end() - tail; value != weights.values.end(); ++value) {
    *value = static_cast<float>(static_cast<double>(*value) * output_scale);
  }
  return weights;
}

}  // namespace emplace
