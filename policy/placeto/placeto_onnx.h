// A Placeto policy as an ONNX model, for runtimes other than ours.
#pragma once

#include <string>

#include "policy/policy_weights.h"

namespace emplace {

// The bytes of an ONNX file that computes the logits of one decision, as PlacetoKernel does, for n groups that E edges
// join, with F features (PlacetoShape) and D devices. Its inputs, of a state at a step of an episode (PlacetoGraph):
//   features     float [n, F]   of each group
//   edges        int64 [E, 2]   parent and child
//   ancestors    bool [n]       groups from which a path leads to the current one
//   descendants  bool [n]       groups to which a path leads from the current one
//   allowed      bool [D]       devices that the current group may use
// and its output:
//   logits       float [D]      -infinity where a device is not allowed
// REQUIRES: weights.shape.kind is placeto.
std::string PlacetoToOnnx(const PolicyWeights& weights);

}  // namespace emplace
