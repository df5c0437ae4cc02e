#include "simulator/engine/subgraph.h"

#include <gtest/gtest.h>

#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// The oracle: a graph that has these ops only, compiled anew.
SimGraph Compiled(const RandomTaskSource& source, const std::vector<OpIndex>& kept) {
  std::vector<Op> ops;
  std::vector<OpIndex> number(static_cast<size_t>(source.graph.num_ops()), -1);
  for (const OpIndex op : kept) {
    number[static_cast<size_t>(op)] = static_cast<OpIndex>(ops.size());
    ops.push_back(source.graph.op(op));
    ops.back().copy_of = Op::kNoCopy;
  }
  for (Op& op : ops) {
    std::erase_if(op.inputs, [&](const OpInput& input) { return number[static_cast<size_t>(input.producer)] < 0; });
    for (OpInput& input : op.inputs) input.producer = number[static_cast<size_t>(input.producer)];
  }
  return SimGraph::Compile(OpGraph("kept", ops), source.cluster);
}

TEST(Subgraph, IsTheGraphOfItsOps) {
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.max_ops = 80, .parameters = 5});
    const SimGraph whole = SimGraph::Compile(source.graph, source.cluster);
    std::vector<OpIndex> kept;
    for (OpIndex op = 0; op < whole.num_ops; ++op) {
      if (rng.Uniform() < 0.7) kept.push_back(op);
    }
    if (kept.empty()) continue;
    const SimGraph graph = Subgraph(whole, kept);
    const SimGraph expected = Compiled(source, kept);
    EXPECT_NO_THROW(graph.Validate()) << "seed " << seed;
    EXPECT_EQ(graph.cost_us, expected.cost_us) << "seed " << seed;
    EXPECT_EQ(graph.tensor_begin, expected.tensor_begin) << "seed " << seed;
    EXPECT_EQ(graph.tensor_bytes, expected.tensor_bytes) << "seed " << seed;
    EXPECT_EQ(graph.tensor_consumers, expected.tensor_consumers) << "seed " << seed;
    EXPECT_EQ(graph.num_inputs, expected.num_inputs) << "seed " << seed;
    EXPECT_EQ(graph.output_bytes, expected.output_bytes) << "seed " << seed;
    EXPECT_EQ(graph.param_bytes, expected.param_bytes) << "seed " << seed;
    EXPECT_EQ(graph.temp_bytes, expected.temp_bytes) << "seed " << seed;
    EXPECT_EQ(graph.memory_bytes, whole.memory_bytes) << "seed " << seed;
  }
}

}  // namespace
}  // namespace emplace
