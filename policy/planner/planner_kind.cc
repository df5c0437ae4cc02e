#include "policy/planner/planner_kind.h"

#include <algorithm>

#include "policy/fields_kind.h"
#include "policy/gaussian.h"
#include "simulator/methods/planner_parameters.h"

namespace emplace {
namespace {

constexpr int64_t kMostComplements = 1000;

// The keys of section `policy`.
struct PlannerKeys {
  // Parameters are only ever added at the end, so that a file with fewer means the first of them.
  int64_t parameters = std::ssize(PlannerParameterTable());
  double deviation = 0.5;
};

FieldTable<PlannerKeys> PlannerTable() {
  using K = PlannerKeys;
  FieldTable<K> t;
  t.Field(kGaussianParameters, &K::parameters)
      .Range(1, static_cast<double>(PlannerParameterTable().size()))
      .Size()
      .Help(
          "Number of the planner's parameters that are learned, in the order in which `emplace inspect` lists them; "
          "those after them stay as in policy.initial, or as they are set by hand.");
  t.Field("deviation", &K::deviation)
      .Range(1e-3, 10)
      .Help(
          "Standard deviation of each parameter over the first candidates, in steps of that parameter, a step being a "
          "change that matters.");
  return t;
}

class Planner final : public FieldsKind<PlannerKeys> {
 public:
  Planner() : FieldsKind("planner", PlannerTable()) {}

  bool plans() const override { return true; }
  RewardTime reward_time() const override { return RewardTime::kEnd; }

  // Complements are chosen once a policy is trained (tools/reproduce/complements.py), so there is no key for them.
  std::vector<SizeField> Sizes() const override {
    std::vector<SizeField> sizes = FieldsKind::Sizes();
    sizes.push_back({.name = kComplements, .low = 0, .high = kMostComplements, .if_absent = 0});
    return sizes;
  }
  PolicyShape Shape(const PolicyConfig& config, int32_t num_devices) const override {
    PolicyShape shape = FieldsKind::Shape(config, num_devices);
    shape.sizes[kComplements] = 0;
    return shape;
  }

  std::vector<ParameterSpec> Parameters(const PolicyShape& shape) const override {
    return GaussianParameters(KeysOf(shape).parameters, shape.sizes.at(kComplements));
  }

  std::vector<float> InitialValues(const PolicyShape& shape, const PolicyConfig& config, Rng /*rng*/) const override {
    const auto n = static_cast<size_t>(KeysOf(shape).parameters);
    std::vector<float> values(n + n * n, 0.0F);
    for (size_t i = 0; i < n; ++i) values[n + i * n + i] = static_cast<float>(KeysOf(config).deviation);
    return values;
  }

  PlannerParameters PlannerOf(std::span<const float> parameters) const override {
    std::vector<double> steps(PlannerParameterTable().size(), 0.0);
    std::ranges::copy(parameters, steps.begin());
    return PlannerAt(steps);
  }
};

}  // namespace

const PolicyKind& PlannerKind() {
  static const Planner kind;
  return kind;
}

}  // namespace emplace
