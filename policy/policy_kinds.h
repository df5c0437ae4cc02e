// The kinds of policy that there are, by the name that policy.kind and policy.safetensors give. To add one, add its
// line to the list in policy_kinds.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/policy_kind.h"

namespace emplace {

std::vector<std::string> PolicyKindNames();
// nullptr: there is no such kind.
const PolicyKind* FindPolicyKindIfAny(const std::string& name);
// REQUIRES: there is such a kind.
const PolicyKind& FindPolicyKind(const std::string& name);

// Number of floats in the flat parameter vector of a policy of this shape.
int64_t NumParameters(const PolicyShape& shape);

}  // namespace emplace
