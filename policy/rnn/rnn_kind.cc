#include "policy/rnn/rnn_kind.h"

#include "policy/features/group_features.h"
#include "policy/initial_values.h"
#include "policy/torch_kind.h"

namespace emplace {
namespace {

// The keys of section `policy`.
struct RnnKeys : SequenceKeys {
  double output_scale = 0.1;
};

FieldTable<RnnKeys> RnnTable() {
  FieldTable<RnnKeys> t;
  AddSequenceFields(t);
  AddOutputScale(t);
  return t;
}

class Rnn final : public TorchKind<RnnKeys> {
 public:
  Rnn() : TorchKind("rnn", RnnTable()) {}

  RewardTime reward_time() const override { return RewardTime::kEnd; }

  std::vector<ParameterSpec> Parameters(const PolicyShape& shape) const override {
    return SequenceParameters(RnnSequence(shape));
  }

  std::vector<float> InitialValues(const PolicyShape& shape, const PolicyConfig& config, Rng rng) const override {
    return GlorotValues(Parameters(shape), KeysOf(config).output_scale, rng);
  }

 private:
  void CheckKeys(const RnnKeys& keys) const override { CheckSequenceKeys(keys); }
};

const Rnn& TheRnn() {
  static const Rnn kind;
  return kind;
}

}  // namespace

SequenceShape RnnSequence(const PolicyShape& shape) {
  return {TheRnn().KeysOf(shape), shape.num_devices, kNumGroupFeatures};
}

const PolicyKind& RnnKind() { return TheRnn(); }

}  // namespace emplace
