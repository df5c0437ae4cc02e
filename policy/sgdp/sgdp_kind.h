// The kind `sgdp`: the keys, sizes and parameters of the one-shot policy of SGDP (Zhou et al., "A Single-Shot
// Generalized Device Placement for Large Dataflow Graphs"). No LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/policy_kind.h"
#include "policy/policy_shape.h"

namespace emplace {

// The sizes of a policy. All but num_devices are keys of section `policy`; the table in sgdp_kind.cc has their ranges.
struct SgdpShape {
  int32_t num_devices = 2;
  int32_t hidden = 64;        // H: width of every embedding.
  int32_t graph_layers = 3;   // Layers of GraphSAGE.
  int32_t placer_layers = 2;  // Layers of the placer.
  int32_t heads = 4;          // Attention heads of a placer's layer; they divide `hidden`.
  int32_t segment = 128;      // Groups in a segment of the placer.
  bool superposition = true;  // Whether the graph's embedding scales the inputs of the placer's layers.
  // Whether each feature is standardized over the groups of a graph, and what the output layer reads has its mean over
  // the groups taken away.
  bool graph_norm = false;

  static SgdpShape Of(const PolicyShape& shape);  // REQUIRES: it has the sizes of the kind.
};

// The parameters in the order of the flat vector. F is kNumGroupFeatures, D the number of devices; a weight is
// [out, in]. "graph.L" is a layer of the graph network, "placer.L" one of the placer, whose "condition" is there with
// superposition alone.
std::vector<ParameterSpec> SgdpParameters(const SgdpShape& shape);

const PolicyKind& SgdpKind();

}  // namespace emplace
