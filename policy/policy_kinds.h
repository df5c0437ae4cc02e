// The kinds of policy that there are, by the name that policy.kind and policy.safetensors give. To add one, add its
// line to the list in policy_kinds.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/policy_kind.h"

namespace emplace {

std::vector<std::string> PolicyKindNames();
// Of those of which this is true, such as &PolicyKind::plans.
std::vector<std::string> PolicyKindNames(bool (PolicyKind::*trait)() const);
// nullptr: there is no such kind.
const PolicyKind* FindPolicyKindIfAny(const std::string& name);
// REQUIRES: there is such a kind.
const PolicyKind& FindPolicyKind(const std::string& name);

// The bytes of an ONNX model of the network. Throws BadInput for a kind that has none.
std::string PolicyToOnnx(const PolicyWeights& weights);

// Number of floats in the flat parameter vector of a policy of this shape.
int64_t NumParameters(const PolicyShape& shape);

}  // namespace emplace
