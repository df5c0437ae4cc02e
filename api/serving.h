// What a placement of a language model's step is worth in the units in which such models are served: tokens/s, seconds
// to the first token, and the longest context whose cache still fits the memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/graph/device_order.h"
#include "simulator/graph/op_graph.h"
#include "simulator/graph/placement.h"
#include "simulator/machine/cluster.h"

namespace emplace {

// What a graph's `meta.llm` says of its step.
struct ServedStep {
  enum class Phase { kDecode, kPrefill, kBoth };
  Phase phase = Phase::kDecode;
  int64_t streams = 1;       // Requests that a step serves at once.
  int64_t prompt = 0;        // Tokens of each stream's prompt; of kPrefill and kBoth.
  int64_t tokens = 1;        // Tokens that the step makes for each stream; of kDecode and kBoth.
  int64_t context = 0;       // Tokens for which each stream's cache has room.
  int64_t most_context = 0;  // Tokens of context that the model was made for.
  // Bytes by which temp_bytes of each op that has some grow with each token of context, unless the op says it itself.
  int64_t room_bytes_per_token = 0;
};

// nullopt: the graph is of no language model. Throws BadInput for a `meta.llm` that lacks one of the numbers, or has a
// wrong one.
std::optional<ServedStep> ServedStepOf(const OpGraph& graph);

// Throws BadInput where ServedStepOf does, or what an op says of its memory (Serving) is no number: a search that takes
// long is spared then.
void CheckServed(const OpGraph& graph);

struct ServingFigures {
  ServedStep step;
  double stream_tokens_per_s = 0;  // Of one stream while its step runs alone; 0 for kPrefill.
  // Of all streams, with so many steps in flight that the busiest device never waits, or with one after the other where
  // that is faster: the load of a device counts all its transfers, which may overlap within a step. Each step in flight
  // has caches of its own, and the memory of those beside the first step's is not counted.
  double pipeline_tokens_per_s = 0;
  double first_token_s = 0;     // Of kPrefill: the prompt's time. Else 0.
  int64_t longest_context = 0;  // Tokens for each stream; 0: not even the weights fit.
  std::string limited_by = "";  // The device that limits longest_context; empty: the model does.
};

// placement: [n]. peak_bytes: [D] of that placement with these orders. The cache grows by attrs.cache_bytes_per_token
// of each op, and what it needs while it runs by attrs.room_bytes_per_token, or else ServedStep::room_bytes_per_token,
// both up to attrs.cache_most_tokens where that is given. Throws BadInput where these are no numbers. REQUIRES:
// placement is legal, and the orders can be followed.
ServingFigures Serving(const OpGraph& graph, const Cluster& cluster, const ServedStep& step, const Placement& placement,
                       const std::vector<int64_t>& peak_bytes, double makespan_us, double max_load_us,
                       const DeviceOrders& orders = {});

// A line for each figure, each with `indent` before it and a line end after it.
std::string ShownServing(const ServingFigures& figures, const std::string& indent);

}  // namespace emplace
