#include "policy/rnn/rnn_kind.h"

#include "policy/features/group_features.h"
#include "policy/fields_kind.h"
#include "policy/initial_values.h"

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
  AddSequenceFields(t);
  AddOutputScale(t);
  return t;
}

class Rnn final : public FieldsKind<RnnConfig> {
 public:
  Rnn() : FieldsKind("rnn", RnnFields()) {}

  RewardTime reward_time() const override { return RewardTime::kEnd; }

  std::vector<SizeField> Sizes() const override { return SequenceSizes(); }

  PolicyShape Shape(const PolicyConfig& config, int32_t num_devices) const override {
    return {.kind = name(), .num_devices = num_devices, .sizes = SequenceSizesOf(OwnOf(config))};
  }

  std::vector<ParameterSpec> Parameters(const PolicyShape& shape) const override {
    return SequenceParameters(RnnSequence(shape));
  }

  std::vector<float> InitialValues(const PolicyShape& shape, const PolicyConfig& config, Rng rng) const override {
    return GlorotValues(Parameters(shape), OwnOf(config).output_scale, rng);
  }
};

}  // namespace

SequenceShape RnnSequence(const PolicyShape& shape) { return SequenceShape::Of(shape, kNumGroupFeatures); }

const PolicyKind& RnnKind() {
  static const Rnn kind;
  return kind;
}

}  // namespace emplace
