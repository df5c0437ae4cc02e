#include "policy/sgdp/sgdp_kind.h"

#include "common/error.h"
#include "common/strings.h"
#include "policy/features/group_features.h"
#include "policy/initial_values.h"
#include "policy/torch_kind.h"

namespace emplace {
namespace {

// The keys of section `policy`.
struct SgdpKeys : SgdpShape {
  bool balanced = true;
  double output_scale = 0.1;
};

FieldTable<SgdpKeys> SgdpTable() {
  using K = SgdpKeys;
  FieldTable<K> t;
  t.Field("hidden", &K::hidden)
      .Range(4, 1024)
      .Size()
      .Help("Number of floats in the embedding of a group. policy.heads divides it.");
  t.Field("graph_layers", &K::graph_layers)
      .Range(0, 32)
      .Size()
      .Help("Number of layers of the graph network, and so of the edges that a group sees far.");
  t.Field("placer_layers", &K::placer_layers).Range(0, 32).Size().Help("Number of layers of the placer.");
  t.Field("heads", &K::heads).Range(1, 64).Size().Help("Number of attention heads of each layer of the placer.");
  t.Field("segment", &K::segment)
      .Range(1, 4096)
      .Size()
      .Help("Number of groups in a segment of the placer, which attends to itself and to the segment before.");
  t.Field("superposition", &K::superposition)
      .Size()
      .Help(
          "Whether the graph's embedding scales the inputs of the placer's layers, so that one network holds many "
          "families.");
  t.Field("graph_norm", &K::graph_norm)
      .Size({.if_absent = 0})  // Without it a file is from before there was the choice.
      .Help(
          "Whether each feature of a group is counted from its mean over the graph, in standard deviations, and the "
          "output layer reads how a group differs from that graph's mean. Without it, an untrained policy hardly tells "
          "groups apart.");
  AddBalanced(t, "device");
  AddOutputScale(t);
  return t;
}

class Sgdp final : public TorchKind<SgdpKeys> {
 public:
  Sgdp() : TorchKind("sgdp", SgdpTable()) {}

  RewardTime reward_time() const override { return RewardTime::kEnd; }

  std::vector<ParameterSpec> Parameters(const PolicyShape& shape) const override {
    return SgdpParameters(SgdpShape::Of(shape));
  }

  // The conditions' weights start at 0, so that every graph's condition is 1 at first.
  std::vector<float> InitialValues(const PolicyShape& shape, const PolicyConfig& config, Rng rng) const override {
    const double output_scale = KeysOf(config).output_scale;
    const auto scale_of = [&](const std::string& name) {
      const bool condition = name.find("condition") != std::string::npos;
      return condition ? 0 : name == "output.weight" ? output_scale : 1;
    };
    return GlorotValues(Parameters(shape), scale_of, rng);
  }

 private:
  void CheckKeys(const SgdpKeys& keys) const override {
    if (keys.hidden % keys.heads == 0) return;
    throw BadInput(StrCat("policy.heads is ", keys.heads, ", expected a divisor of policy.hidden, ", keys.hidden));
  }
};

const Sgdp& TheSgdp() {
  static const Sgdp kind;
  return kind;
}

}  // namespace

SgdpShape SgdpShape::Of(const PolicyShape& shape) {
  SgdpShape own = TheSgdp().KeysOf(shape);
  own.num_devices = shape.num_devices;
  return own;
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

const PolicyKind& SgdpKind() { return TheSgdp(); }

}  // namespace emplace
