// The kind `rnn`: the keys, sizes and parameters of the sequence-to-sequence policy of Mirhoseini et al., "Device
// Placement Optimization with Reinforcement Learning" (ICML 2017). No LibTorch.
#pragma once

#include "policy/policy_kind.h"
#include "policy/policy_shape.h"
#include "policy/sequence_shape.h"

namespace emplace {

const PolicyKind& RnnKind();
// The network of a policy of this kind, which reads the features of a group. REQUIRES: it has the sizes of the kind.
SequenceShape RnnSequence(const PolicyShape& shape);

}  // namespace emplace
