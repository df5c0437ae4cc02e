// The kind `toy`: a table with one row of logits for every so many groups. The least that a policy can be.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policy/policy_kind.h"
#include "policy/policy_shape.h"
#include "simulator/task/group_graph.h"

namespace emplace {

const PolicyKind& ToyKind();

// Where the logits of a group's D devices are in the flat vector: group g has row g % rows. REQUIRES: shape.kind is
// toy.
size_t ToyRow(const PolicyShape& shape, size_t group);
// Appends the logits [n, D] of all groups. values: [parameters].
void AppendToyLogits(const PolicyShape& shape, const GroupGraph& groups, std::span<const float> values,
                     std::vector<float>& logits);

}  // namespace emplace
