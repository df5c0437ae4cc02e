#include "policy/rnn/rnn_kind.h"

#include <cmath>

#include "common/error.h"
#include "common/strings.h"
#include "policy/fields_kind.h"
#include "policy/torch/group_features.h"
#include "policy/torch/initial_values.h"

namespace emplace {
namespace {

// The keys of section `policy`.
struct RnnConfig {
  int64_t hidden = 64;
  double tanh_constant = 5;
  double temperature = 1;
  double output_scale = 0.1;
};

FieldTable<RnnConfig> RnnFields() {
  using C = RnnConfig;
  FieldTable<C> t;
  t.Field("hidden", &C::hidden)
      .Range(2, 2048)
      .Help("Number of floats in the state of the LSTM that decides; an even number.");
  t.Field("tanh_constant", &C::tanh_constant)
      .Range(0.1, 1000)
      .Help("Upper limit of a logit, in steps of 0.1: logits are tanh_constant * tanh(x / temperature).");
  t.Field("temperature", &C::temperature)
      .Range(0.1, 1000)
      .Help("Divisor of what becomes a logit, in steps of 0.1. A high one keeps the policy random for longer.");
  AddOutputScale(t);
  return t;
}

class Rnn final : public FieldsKind<RnnConfig> {
 public:
  Rnn() : FieldsKind("rnn", RnnFields()) {}

  RewardTime reward_time() const override { return RewardTime::kEnd; }

  std::vector<SizeField> Sizes() const override {
    return {{"hidden", 2, 2048}, {"tanh_tenths", 1, 10000}, {"temperature_tenths", 1, 10000}};
  }

  PolicyShape Shape(const PolicyConfig& config, int32_t num_devices) const override {
    const auto own = OwnOf(config);
    if (own.hidden % 2 != 0) throw BadInput(StrCat("policy.hidden is ", own.hidden, ", expected an even number"));
    return {.kind = name(),
            .num_devices = num_devices,
            .sizes = {{"hidden", own.hidden},
                      {"tanh_tenths", std::llround(own.tanh_constant * 10)},
                      {"temperature_tenths", std::llround(own.temperature * 10)}}};
  }

  std::vector<ParameterSpec> Parameters(const PolicyShape& shape) const override {
    return RnnParameters(RnnShape::Of(shape));
  }

  std::vector<float> InitialValues(const PolicyShape& shape, const PolicyConfig& config, Rng rng) const override {
    const double output_scale = OwnOf(config).output_scale;
    std::vector<float> values;
    for (const ParameterSpec& spec : Parameters(shape)) {
      AppendInitialValues(spec, spec.name == "output.weight" ? output_scale : 1, rng, values);
    }
    return values;
  }
};

}  // namespace

RnnShape RnnShape::Of(const PolicyShape& shape) {
  const auto size = [&](const char* name) { return static_cast<int32_t>(shape.sizes.at(name)); };
  return {.num_devices = shape.num_devices,
          .hidden = size("hidden"),
          .tanh_tenths = size("tanh_tenths"),
          .temperature_tenths = size("temperature_tenths")};
}

std::vector<ParameterSpec> RnnParameters(const RnnShape& shape) {
  const int64_t width = shape.hidden;
  std::vector<ParameterSpec> specs;
  const auto linear = [&](const std::string& name, int64_t in, int64_t out) {
    specs.push_back({name + ".weight", {out, in}});
    specs.push_back({name + ".bias", {out}});
  };
  const auto lstm = [&](const std::string& name, int64_t in, int64_t out) {
    linear(name + ".input", in, 4 * out);
    linear(name + ".state", out, 4 * out);
  };
  linear("input", kNumGroupFeatures, width);
  lstm("encoder.forward", width, width / 2);
  lstm("encoder.backward", width, width / 2);
  // One row for each device that the group before may have got, and one for the first group.
  specs.push_back({"device.weight", {shape.num_devices + 1, width}});
  lstm("decoder", 2 * width, width);
  linear("attention.key", width, width);
  linear("attention.query", width, width);
  specs.push_back({"attention.score.weight", {1, width}});
  linear("output", 2 * width, shape.num_devices);
  return specs;
}

const PolicyKind& RnnKind() {
  static const Rnn kind;
  return kind;
}

}  // namespace emplace
