#include "policy/policy_kinds.h"

#include "common/error.h"
#include "common/strings.h"
#include "policy/hierarchical/hierarchical_kind.h"
#include "policy/placeto/placeto_kind.h"
#include "policy/planner/planner_kind.h"
#include "policy/policy_weights.h"
#include "policy/rnn/rnn_kind.h"
#include "policy/sgdp/sgdp_kind.h"

namespace emplace {
namespace {

std::vector<const PolicyKind*> Kinds() {
  return {
      &PlacetoKind(), &SgdpKind(), &RnnKind(), &HierarchicalKind(), &PlannerKind(),
  };
}

}  // namespace

std::vector<std::string> PolicyKindNames() {
  std::vector<std::string> names;
  for (const PolicyKind* kind : Kinds()) names.push_back(kind->name());
  return names;
}

std::vector<std::string> PolicyKindNames(bool (PolicyKind::*trait)() const) {
  std::vector<std::string> names;
  for (const PolicyKind* kind : Kinds()) {
    if ((kind->*trait)()) names.push_back(kind->name());
  }
  return names;
}

const PolicyKind* FindPolicyKindIfAny(const std::string& name) {
  for (const PolicyKind* kind : Kinds()) {
    if (kind->name() == name) return kind;
  }
  return nullptr;
}

const PolicyKind& FindPolicyKind(const std::string& name) {
  const PolicyKind* const kind = FindPolicyKindIfAny(name);
  EMPLACE_CHECK(kind != nullptr);
  return *kind;
}

std::string PolicyToOnnx(const PolicyWeights& weights) {
  const PolicyKind& kind = FindPolicyKind(weights.shape.kind);
  if (kind.writes_onnx()) return kind.ToOnnx(weights);
  throw BadInput(StrCat("a policy of kind ", kind.name(), " cannot be written as ONNX, expected one of kind ",
                        Join(PolicyKindNames(&PolicyKind::writes_onnx), ", ")));
}

int64_t NumParameters(const PolicyShape& shape) {
  size_t count = 0;
  for (const ParameterSpec& parameter : FindPolicyKind(shape.kind).Parameters(shape)) count += NumEntries(parameter);
  return static_cast<int64_t>(count);
}

}  // namespace emplace
