// Generates families of graphs and single networks, for `emplace generate` and for training runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/families/program/device_kind.h"
#include "simulator/families/workloads/ranges.h"
#include "simulator/graph/op_graph.h"

namespace emplace {

struct FamilyOptions {
  std::string family = "ptb";
  int64_t count = 32;
  int64_t train = 20;      // Number of training graphs; the other graphs are test graphs.
  int64_t validation = 0;  // Number of further graphs, drawn from a random stream of their own.
  uint64_t seed = 1;
  std::string size = "full";
  std::string dtype = "f32";             // "f32" or "f16": type of parameters and activations.
  int64_t microbatches = 1;              // Number of parts in which a step processes its batch.
  bool calls = false;                    // Whether the ops get calls (aten_calls.h).
  std::vector<std::string> ranges = {};  // Ranges that replace those of the size: "steps=10..20".
};

// The generated graphs. They depend only on the options and the device kinds. Graphs are named "ptb_00", validation
// graphs "ptb_validation_00", and the graph of a single network has the network's name.
struct Family {
  std::vector<OpGraph> graphs;  // [count]
  std::vector<size_t> train;    // Indices into graphs, ascending, by a permutation with a fixed seed.
  std::vector<size_t> test;
  std::vector<OpGraph> validation;
};

// Throws BadInput for an unknown family, size or dtype, a count below 1, a bad range, more than one graph of a
// single network, or more micro-batches than a graph's batch has examples. Works on all cores.
Family GenerateFamily(const FamilyOptions& options, const std::vector<DeviceKind>& kinds);
std::vector<std::string> FamilyNames();
bool IsSingleNetwork(const std::string& family);  // Throws BadInput for an unknown name.
Ranges RangesOf(const FamilyOptions& options);  // The size's ranges, with the options' own. Empty for a single network.

// Writes emplace.split/1: {"format", "family", "seed", "train": [file names], "test": [...], "validation": [...]}.
std::string SplitToJson(const FamilyOptions& options, const Family& family);

}  // namespace emplace
