#include "policy/toy/toy_kind.h"

#include <limits>

#include "policy/fields_kind.h"
#include "policy/toy/toy_model.h"
#include "policy/toy/toy_player.h"

namespace emplace {
namespace {

// The keys of section `policy`.
struct ToyKeys {
  int32_t rows = 4;
};

FieldTable<ToyKeys> ToyTable() {
  FieldTable<ToyKeys> t;
  t.Field("rows", &ToyKeys::rows).Range(1, 64).Size().Help("Number of rows of the table, which groups take in turns.");
  return t;
}

class Toy final : public FieldsKind<ToyKeys> {
 public:
  Toy() : FieldsKind("toy", ToyTable()) {}

  RewardTime reward_time() const override { return RewardTime::kEnd; }

  std::vector<ParameterSpec> Parameters(const PolicyShape& shape) const override {
    return {{"table", {KeysOf(shape).rows, shape.num_devices}}};
  }

  std::vector<float> InitialValues(const PolicyShape& shape, const PolicyConfig& /*config*/,
                                   Rng /*rng*/) const override {
    return std::vector<float>(NumEntries(Parameters(shape).front()));
  }

  std::unique_ptr<Player> MakePlayer(const PolicyShape& shape) const override { return MakeToyPlayer(shape); }
  std::unique_ptr<Model> MakeModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks) const override {
    return MakeToyModel(shape, tasks);
  }
};

const Toy& TheToy() {
  static const Toy kind;
  return kind;
}

}  // namespace

const PolicyKind& ToyKind() { return TheToy(); }

size_t ToyRow(const PolicyShape& shape, size_t group) {
  return group % static_cast<size_t>(TheToy().KeysOf(shape).rows) * static_cast<size_t>(shape.num_devices);
}

void AppendToyLogits(const PolicyShape& shape, const GroupGraph& groups, std::span<const float> values,
                     std::vector<float>& logits) {
  for (size_t group = 0; group < static_cast<size_t>(groups.num_groups); ++group) {
    for (size_t device = 0; device < static_cast<size_t>(shape.num_devices); ++device) {
      logits.push_back(groups.Allowed(group, device) ? values[ToyRow(shape, group) + device]
                                                     : -std::numeric_limits<float>::infinity());
    }
  }
}

}  // namespace emplace
