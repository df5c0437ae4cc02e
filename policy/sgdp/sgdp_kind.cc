#include "policy/sgdp/sgdp_kind.h"

#include "common/error.h"
#include "common/strings.h"
#include "policy/features/group_features.h"
#include "policy/fields_kind.h"
#include "policy/initial_values.h"

namespace emplace {
namespace {

// The keys of section `policy`.
struct SgdpConfig {
  int64_t hidden = 64;
  int64_t graph_layers = 3;
  int64_t placer_layers = 2;
  int64_t heads = 4;
  int64_t segment = 128;
  bool superposition = true;
  bool graph_norm = false;
  bool balanced = true;
  double output_scale = 0.1;
};

FieldTable<SgdpConfig> SgdpFields() {
  using C = SgdpConfig;
  FieldTable<C> t;
  t.Field("hidden", &C::hidden)
      .Range(4, 1024)
      .Help("Number of floats in the embedding of a group. policy.heads divides it.");
  t.Field("graph_layers", &C::graph_layers)
      .Range(0, 32)
      .Help("Number of layers of the graph network, and so of the edges that a group sees far.");
  t.Field("placer_layers", &C::placer_layers).Range(0, 32).Help("Number of layers of the placer.");
  t.Field("heads", &C::heads).Range(1, 64).Help("Number of attention heads of each layer of the placer.");
  t.Field("segment", &C::segment)
      .Range(1, 4096)
      .Help("Number of groups in a segment of the placer, which attends to itself and to the segment before.");
  t.Field("superposition", &C::superposition)
      .Help(
          "Whether the graph's embedding scales the inputs of the placer's layers, so that one network holds many "
          "families.");
  t.Field("graph_norm", &C::graph_norm)
      .Help(
          "Whether each feature of a group is counted from its mean over the graph, in standard deviations, and the "
          "output layer reads how a group differs from that graph's mean. Without it, an untrained policy hardly tells "
          "groups apart.");
  AddBalanced(t, "device");
  AddOutputScale(t);
  return t;
}

class Sgdp final : public FieldsKind<SgdpConfig> {
 public:
  Sgdp() : FieldsKind("sgdp", SgdpFields()) {}

  RewardTime reward_time() const override { return RewardTime::kEnd; }

  std::vector<SizeField> Sizes() const override {
    return {{"hidden", 4, 1024},
            {"graph_layers", 0, 32},
            {"placer_layers", 0, 32},
            {"heads", 1, 64},
            {"segment", 1, 4096},
            {"superposition", 0, 1},
            // Without it a file is from before there was the choice.
            {"graph_norm", 0, 1, /*if_absent=*/0},
            BalancedSize()};
  }

  PolicyShape Shape(const PolicyConfig& config, int32_t num_devices) const override {
    const auto own = OwnOf(config);
    if (own.hidden % own.heads != 0) {
      throw BadInput(StrCat("policy.heads is ", own.heads, ", expected a divisor of policy.hidden, ", own.hidden));
    }
    return {.kind = name(),
            .num_devices = num_devices,
            .sizes = {{"hidden", own.hidden},
                      {"graph_layers", own.graph_layers},
                      {"placer_layers", own.placer_layers},
                      {"heads", own.heads},
                      {"segment", own.segment},
                      {"superposition", own.superposition ? 1 : 0},
                      {"graph_norm", own.graph_norm ? 1 : 0},
                      {kBalanced, own.balanced ? 1 : 0}}};
  }

  std::vector<ParameterSpec> Parameters(const PolicyShape& shape) const override {
    return SgdpParameters(SgdpShape::Of(shape));
  }

  // The conditions' weights start at 0, so that every graph's condition is 1 at first.
  std::vector<float> InitialValues(const PolicyShape& shape, const PolicyConfig& config, Rng rng) const override {
    const double output_scale = OwnOf(config).output_scale;
    const auto scale_of = [&](const std::string& name) {
      const bool condition = name.find("condition") != std::string::npos;
      return condition ? 0 : name == "output.weight" ? output_scale : 1;
    };
    return GlorotValues(Parameters(shape), scale_of, rng);
  }
};

}  // namespace

SgdpShape SgdpShape::Of(const PolicyShape& shape) {
  const auto size = [&](const char* name) { return static_cast<int32_t>(shape.sizes.at(name)); };
  return {.num_devices = shape.num_devices,
          .hidden = size("hidden"),
          .graph_layers = size("graph_layers"),
          .placer_layers = size("placer_layers"),
          .heads = size("heads"),
          .segment = size("segment"),
          .superposition = size("superposition") != 0,
          .graph_norm = size("graph_norm") != 0};
}

std::vector<ParameterSpec> SgdpParameters(const SgdpShape& shape) {
  const int64_t width = shape.hidden;
  std::vector<ParameterSpec> specs;
  const auto linear = [&](const std::string& name, int64_t in, int64_t out) { AddLinear(name, in, out, specs); };
  const auto norm = [&](const std::string& name) {
    specs.push_back({name + ".scale", {width}});
    specs.push_back({name + ".bias", {width}});
  };
  linear("input", kNumGroupFeatures, width);
  for (int32_t layer = 0; layer < shape.graph_layers; ++layer) {
    linear(StrCat("graph.", layer, ".pool"), width, width);
    linear(StrCat("graph.", layer, ".update"), 2 * width, width);
  }
  for (int32_t layer = 0; layer < shape.placer_layers; ++layer) {
    const std::string name = StrCat("placer.", layer);
    if (shape.superposition) linear(name + ".condition", width, width);
    norm(name + ".attention.norm");
    for (const char* part : {".query", ".key", ".value", ".out"}) linear(name + ".attention" + part, width, width);
    norm(name + ".feedforward.norm");
    linear(name + ".feedforward.0", width, 2 * width);
    linear(name + ".feedforward.1", 2 * width, width);
  }
  norm("output.norm");
  linear("output", width, shape.num_devices);
  return specs;
}

const PolicyKind& SgdpKind() {
  static const Sgdp kind;
  return kind;
}

}  // namespace emplace
