#include "simulator/instances/dag_shapes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/instances/dag_ops.h"

namespace emplace {
namespace {

TEST(DagShapes, AreOfTheSizeAskedForAndInATopologicalOrder) {
  for (const InstancePart part : kInstanceParts) {
    for (const DagGenerator& generator : DagGenerators(part)) {
      Rng rng(1);
      for (const int32_t nodes : {1, 2, 7, 40, 300}) {
        for (int repeat = 0; repeat < 5; ++repeat) {
          SCOPED_TRACE(generator.name);
          const DagShape shape = generator.draw(rng, nodes);
          ASSERT_EQ(std::ssize(shape.reads), nodes);
          ASSERT_EQ(std::ssize(shape.role), nodes);
          ASSERT_EQ(std::ssize(shape.stage), nodes);
          size_t edges = 0;
          for (int32_t node = 0; node < nodes; ++node) {
            const std::vector<int32_t>& reads = shape.reads[static_cast<size_t>(node)];
            edges += reads.size();
            ASSERT_TRUE(std::ranges::is_sorted(reads));
            for (const int32_t read : reads) ASSERT_TRUE(read >= 0 && read < node);
          }
          if (nodes == 300) {
            EXPECT_GT(edges, 250u);
          }
          EXPECT_GE(*std::ranges::min_element(shape.role), 0);
        }
      }
    }
  }
}

TEST(DagOps, AreAsManyAsAskedForAndMakeAGraph) {
  for (const InstancePart part : kInstanceParts) {
    for (const DagGenerator& generator : DagGenerators(part)) {
      Rng rng(2);
      for (const int32_t ops : {16, 17, 50, 333, 1500}) {
        for (int repeat = 0; repeat < 5; ++repeat) {
          const OpGraph graph(generator.name, DrawDagOps(rng, generator, ops));
          ASSERT_EQ(graph.num_ops(), ops);
          for (OpIndex op = 0; op < ops; ++op) ASSERT_EQ(graph.topological_order()[static_cast<size_t>(op)], op);
        }
      }
    }
  }
}

// Forward and backward pass, and the ops that a weight has: a gradient for each node and micro-batch, sums and an
// update.
TEST(DagOps, TrainingMirrorsTheForwardPass) {
  const DagGenerator& generator = DagGenerators(InstancePart::kTrain).front();
  Rng rng(3);
  int trained = 0;
  for (int repeat = 0; repeat < 40; ++repeat) {
    const std::vector<Op> ops = DrawDagOps(rng, generator, 400);
    const auto count = [&](const auto& test) { return std::ranges::count_if(ops, test); };
    const auto named = [](const std::string& text) {
      return [text](const Op& op) { return op.name.find(text) != std::string::npos; };
    };
    const auto gradients = count(named("grad/n"));
    if (gradients == 0) continue;
    ++trained;
    const auto nodes = count([](const Op& op) {
      const size_t slash = op.name.rfind('/');
      const std::string last = slash == std::string::npos ? op.name : op.name.substr(slash + 1);
      return last[0] == 'n' && op.name.find("grad") == std::string::npos && op.name.find("sum") == std::string::npos;
    });
    EXPECT_EQ(gradients, nodes);
    const auto weights = count([](const Op& op) { return op.type == "emplace.parameter"; });
    EXPECT_EQ(count(named("update/")), weights);
    EXPECT_EQ(count(named("sum/")), count(named("grad/weight_of")) - weights);
  }
  EXPECT_GT(trained, 10);
}

}  // namespace
}  // namespace emplace
