#include "policy/placeto/placeto_kind.h"

#include "policy/fields_kind.h"
#include "policy/initial_values.h"
#include "policy/placeto/placeto_model.h"
#include "policy/placeto/placeto_onnx.h"
#include "policy/placeto/placeto_player.h"

namespace emplace {
namespace {

struct PlacetoKeys : PlacetoShape {
  double output_scale = 1;
};

FieldTable<PlacetoKeys> PlacetoTable() {
  using K = PlacetoKeys;
  FieldTable<K> t;
  t.Field("message_rounds", &K::message_rounds)
      .Range(0, 64)
      .Size()
      .Help("Number of rounds of message passing in each direction (k).");
  t.Field("message_width", &K::message_width)
      .Range(0, 256)
      .Size()
      .Help("Number of floats in a message (m). 0: as many as a group has features.");
  t.Field("memory_feature", &K::memory_feature)
      .Size()
      .Help("Whether the memory that a group needs is one of its features.");
  // Without the following sizes a file is from before there was the choice, and means what all policies did then.
  t.Field("pooling", &K::pooling)
      .Size({.if_absent = 1})
      .Help(
          "Whether the policy pools over ancestors, descendants and the other groups; false serves to measure what "
          "pooling is worth.");
  t.Field("start_times", &K::start_times)
      .Size({.if_absent = 0})
      .Help(
          "Whether a feature of a group is when it starts in the simulated run of the placement that the policy sees, "
          "as a share of the makespan. Each state is then simulated once more, by the learner too, and only the CPU "
          "can train.");
  AddOutputScale(t);
  return t;
}

class Placeto final : public FieldsKind<PlacetoKeys> {
 public:
  Placeto() : FieldsKind("placeto", PlacetoTable()) {}

  std::vector<RetiredSize> RetiredSizes() const override { return {{"earlier_decisions", 1}, {"link_time", 0}}; }
  RewardTime reward_time() const override { return RewardTime::kEachDecision; }

  std::vector<ParameterSpec> Parameters(const PolicyShape& shape) const override {
    std::vector<ParameterSpec> parameters;
    for (const LayerSpec& layer : PlacetoLayers(PlacetoShape::Of(shape))) {
      AddLinear(layer.name, layer.in, layer.out, parameters);
    }
    return parameters;
  }

  std::vector<float> InitialValues(const PolicyShape& shape, const PolicyConfig& config, Rng rng) const override {
    return InitialPlaceto(PlacetoShape::Of(shape), rng, KeysOf(config).output_scale).values;
  }

  std::unique_ptr<Player> MakePlayer(const PolicyShape& shape) const override { return MakePlacetoPlayer(shape); }
  std::unique_ptr<Model> MakeModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks) const override {
    return MakePlacetoModel(shape, tasks);
  }
  std::string WhyNoGpu(const PolicyShape& /*shape*/) const override { return "this build is without CUDA"; }

  bool writes_onnx() const override { return true; }
  std::string ToOnnx(const PolicyWeights& weights) const override { return PlacetoToOnnx(weights); }
};

const Placeto& ThePlaceto() {
  static const Placeto kind;
  return kind;
}

}  // namespace

const PolicyKind& PlacetoKind() { return ThePlaceto(); }

PlacetoShape::operator PolicyShape() const {
  PlacetoKeys keys;
  static_cast<PlacetoShape&>(keys) = *this;
  return ThePlaceto().ShapeOf(keys, num_devices);
}

PlacetoShape PlacetoShape::Of(const PolicyShape& shape) {
  PlacetoShape own = ThePlaceto().KeysOf(shape);
  own.num_devices = shape.num_devices;
  return own;
}

PolicyWeights InitialPlaceto(const PlacetoShape& shape, Rng rng, double output_scale) {
  PolicyWeights weights;
  weights.shape = shape;
  weights.values = GlorotValues(PlacetoKind().Parameters(weights.shape), /*output_scale=*/1.0, rng);
  const LayerSpec last = PlacetoLayers(shape).back();
  const auto tail = static_cast<std::ptrdiff_t>((int64_t{last.in} + 1) * last.out);
  for (auto value = weights.values.end() - tail; value != weights.values.end(); ++value) {
    *value = static_cast<float>(static_cast<double>(*value) * output_scale);
  }
  return weights;
}

}  // namespace emplace
