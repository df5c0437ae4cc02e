// Families of graphs, and single networks: what `emplace generate` writes and a training run is made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/families/cost_model.h"
#include "simulator/families/ranges.h"
#include "simulator/op_graph.h"

namespace emplace {

struct FamilyOptions {
  std::string family = "ptb";
  int64_t count = 32;
  int64_t train = 20;      // The rest is for testing.
  int64_t validation = 0;  // Further graphs, from a stream of their own.
  uint64_t seed = 1;
  std::string size = "full";
  std::string dtype = "f32";             // Or f16: of parameters and activations.
  std::vector<std::string> ranges = {};  // What differs from the size's ranges: "steps=10..20".
};

// Deterministic in the options and the kinds; graphs are named "ptb_00", those for validation "ptb_validation_00", a
// single network's as itself.
struct Family {
  std::vector<OpGraph> graphs;  // [count]
  std::vector<size_t> train;    // Indices into graphs, ascending: a permutation of fixed seed decides.
  std::vector<size_t> test;
  std::vector<OpGraph> validation;
};

// Throws BadInput for an unknown family, size or dtype, a count below 1, a bad range, or more than one graph of a
// single network.
Family GenerateFamily(const FamilyOptions& options, const std::vector<DeviceKind>& kinds);
std::vector<std::string> FamilyNames();
bool IsSingleNetwork(const std::string& family);  // Throws BadInput for an unknown one.
Ranges RangesOf(const FamilyOptions& options);    // Of this size, with the options' own. Empty for a single network.

// emplace.split/1: {"format", "family", "seed", "train": [file names], "test": [...], "validation": [...]}.
std::string SplitToJson(const FamilyOptions& options, const Family& family);

}  // namespace emplace
