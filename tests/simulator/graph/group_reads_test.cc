#include "simulator/graph/group_reads.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

using Bytes = std::map<std::pair<GroupIndex, GroupIndex>, int64_t>;

Bytes BytesOf(const GroupReads& reads) {
  Bytes bytes;
  std::pair<GroupIndex, GroupIndex> last = {-1, -1};
  for (const GroupEdge& edge : reads.Edges()) {
    const std::pair ends = {edge.from, edge.to};
    EXPECT_LT(last, ends);  // By (from, to), each once.
    last = ends;
    bytes[ends] = edge.bytes;
  }
  return bytes;
}

// From the inputs of the ops, by sets.
Bytes Expected(const OpGraph& graph, const std::vector<GroupIndex>& group_of_op) {
  std::set<std::tuple<OpIndex, int32_t, GroupIndex>> counted;
  Bytes bytes;
  for (OpIndex reader = 0; reader < graph.num_ops(); ++reader) {
    for (const OpInput& input : graph.op(reader).inputs) {
      const GroupIndex from = group_of_op[static_cast<size_t>(input.producer)];
      const GroupIndex to = group_of_op[static_cast<size_t>(reader)];
      if (from == to || !counted.insert({input.producer, input.output, to}).second) continue;
      const bool control = input.output == OpInput::kControl;
      bytes[{from, to}] += control ? 0 : graph.op(input.producer).outputs[static_cast<size_t>(input.output)].bytes;
    }
  }
  return bytes;
}

TEST(GroupReads, CountATensorOnceForEachGroupHoweverGroupsMerge) {
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.max_ops = 60, .parameters = 5});
    std::vector<GroupIndex> group_of_op;
    for (OpIndex op = 0; op < source.graph.num_ops(); ++op) group_of_op.push_back(op);
    GroupReads reads(source.graph, group_of_op);
    ASSERT_EQ(BytesOf(reads), Expected(source.graph, group_of_op)) << "seed " << seed;
    for (int32_t groups = source.graph.num_ops() / 2; groups > 0; groups /= 2) {
      std::vector<GroupIndex> number;
      for (OpIndex op = 0; op < source.graph.num_ops(); ++op)
        number.push_back(static_cast<GroupIndex>(rng.UniformInt(0, groups - 1)));
      reads.Rename([&](GroupIndex group) { return number[static_cast<size_t>(group)]; });
      for (GroupIndex& group : group_of_op) group = number[static_cast<size_t>(group)];
      ASSERT_EQ(BytesOf(reads), Expected(source.graph, group_of_op)) << "seed " << seed << ", " << groups << " groups";
    }
  }
}

}  // namespace
}  // namespace emplace
