// The kind `hierarchical`: the policy of Mirhoseini et al., "A Hierarchical Model for Device Placement" (ICLR 2018). A
// grouper gives each group of a task a bin, and a placer gives each bin a device. No LibTorch.
//
// Decisions of an episode on n groups: the bin of each group, then the device of each bin that has a group, in the
// order of UsedBins. Every decision is one of NumBins choices; those of devices use the first D.
#pragma once

#include <cstdint>

#include "policy/policy_kind.h"
#include "policy/policy_shape.h"
#include "policy/sequence_shape.h"

namespace emplace {

// What the placer reads of a bin: the means of its groups' features (group_features.h), how many groups it has, and how
// many edges lead to and from each bin.
int32_t NumBinFeatures(int32_t num_devices);

const PolicyKind& HierarchicalKind();
// The placer of a policy of this kind. REQUIRES: it has the sizes of the kind.
SequenceShape HierarchicalPlacer(const PolicyShape& shape);

}  // namespace emplace
