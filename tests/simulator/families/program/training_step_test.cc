#include "simulator/families/program/training_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "simulator/families/family.h"
#include "simulator/families/program/lower.h"
#include "simulator/families/program/op_table.h"
#include "simulator/families/workloads/ptb.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

using ::testing::HasSubstr;

PtbModel SmallPtb(int64_t batch) {
  Rng rng(3);
  PtbModel model = SamplePtb(rng, PtbRanges(/*small=*/true));
  model.batch = batch;
  return model;
}

OpGraph PtbGraph(int64_t batch, int64_t microbatches) {
  static const std::vector<DeviceKind> kinds = LoadDeviceKinds(DefaultKindsFolder());
  return Lower("ptb", BuildPtb(SmallPtb(batch), {.microbatches = microbatches}), kinds);
}

std::map<std::string, Op> ByName(const OpGraph& graph) {
  std::map<std::string, Op> ops;
  for (const Op& op : graph.ops()) ops[op.name] = op;
  return ops;
}

TEST(TrainingStep, InferenceIsTheForwardPassOfTheTrainingStep) {
  for (const int64_t microbatches : {1, 3}) {
    const TensorProgram training = BuildPtb(SmallPtb(6), {.microbatches = microbatches});
    std::vector<std::string> forward;
    for (const SymbolicNode& node : training.nodes()) {
      const std::string name = OpName(node);
      if (name.find("grad/") == std::string::npos && !name.starts_with("update/")) forward.push_back(name);
    }
    std::vector<std::string> inference;
    const TensorProgram program = BuildPtb(SmallPtb(6), {.microbatches = microbatches, .forward_only = true});
    for (const SymbolicNode& node : program.nodes()) inference.push_back(OpName(node));
    EXPECT_EQ(inference, forward);
  }
}

TEST(TrainingStep, EveryCopyIsTheStepOfItsPartOfTheBatch) {
  // 22 examples in 4 micro-batches: 6, 6, 5 and 5. A step with 6 or 5 examples has the same ops, once.
  const OpGraph graph = PtbGraph(22, 4);
  const int64_t parts[] = {6, 6, 5, 5};
  std::map<std::string, Op> left = ByName(graph);
  for (int copy = 0; copy < 4; ++copy) {
    const OpGraph alone = PtbGraph(parts[copy], 1);
    for (const Op& op : alone.ops()) {
      const bool shared = op.type == kParameterType || op.name.starts_with("update/");
      if (shared && copy > 0) continue;
      const auto found = left.find((copy == 0 ? "" : "mb" + std::to_string(copy) + "/") + op.name);
      ASSERT_NE(found, left.end()) << op.name;
      EXPECT_EQ(found->second.cost.by_kind(), op.cost.by_kind()) << found->first;
      EXPECT_EQ(found->second.flops, op.flops) << found->first;
      EXPECT_EQ(found->second.OutputBytes(), op.OutputBytes()) << found->first;
      EXPECT_EQ(found->second.temp_bytes, op.temp_bytes) << found->first;
      EXPECT_EQ(found->second.param_bytes, op.param_bytes) << found->first;
      EXPECT_EQ(found->second.attrs_json, op.attrs_json) << found->first;
      EXPECT_EQ(found->second.group, op.group) << found->first;
      if (copy == 0) {
        EXPECT_EQ(found->second.copy_of, Op::kNoCopy);
      } else {
        EXPECT_EQ(graph.op(found->second.copy_of).name, op.name);
      }
      left.erase(found);
    }
  }
  // What is left adds three gradients to the first one, for each parameter, beside it.
  for (const auto& [name, op] : left) {
    EXPECT_THAT(name, HasSubstr("/accumulate"));
    EXPECT_EQ(op.type, "aten.add");
    EXPECT_EQ(op.copy_of, Op::kNoCopy);
    EXPECT_TRUE(op.group.starts_with("param:")) << name;
  }
  EXPECT_EQ(left.size(), 3 * (1 + SmallPtb(22).parent.size()));
}

TEST(TrainingStep, OneUpdateComesAfterEveryReaderOfItsParameter) {
  const OpGraph graph = PtbGraph(8, 4);
  const std::map<std::string, Op> ops = ByName(graph);
  for (const Op& parameter : graph.ops()) {
    if (parameter.type != kParameterType) continue;
    const auto p = static_cast<OpIndex>(&parameter - graph.ops().data());
    // All that the update waits for, directly or through others.
    std::set<OpIndex> before;
    std::vector<OpIndex> open;
    const Op& update = ops.at("update/" + parameter.name);
    EXPECT_EQ(update.group, parameter.group);
    for (const OpInput& input : update.inputs) open.push_back(input.producer);
    while (!open.empty()) {
      const OpIndex op = open.back();
      open.pop_back();
      if (!before.insert(op).second) continue;
      for (const OpInput& input : graph.op(op).inputs) open.push_back(input.producer);
    }
    for (const OpIndex reader : graph.consumers().Row(p)) {
      EXPECT_TRUE(before.contains(reader) || graph.op(reader).name == update.name) << graph.op(reader).name;
    }
  }
}

TEST(TrainingStep, EveryWorkloadHasMicrobatches) {
  const std::vector<DeviceKind> kinds = LoadDeviceKinds(DefaultKindsFolder());
  for (const std::string& name : FamilyNames()) {
    if (name.ends_with('4') || name.ends_with('8')) continue;  // As the network with 2 layers or stacks, but larger.
    const std::string size = IsSingleNetwork(name) ? "full" : "small";
    FamilyOptions options = {.family = name, .count = 1, .train = 1, .size = size};
    const OpGraph whole = GenerateFamily(options, kinds).graphs[0];
    options.microbatches = 3;
    const OpGraph graph = GenerateFamily(options, kinds).graphs[0];
    int64_t copies = 0;
    double flops = 0;
    for (const Op& op : graph.ops()) {
      copies += static_cast<int64_t>(op.copy_of != Op::kNoCopy);
      flops += op.flops;
    }
    int64_t repeated = 0;
    double whole_flops = 0;
    for (const Op& op : whole.ops()) {
      repeated += static_cast<int64_t>(op.group.empty());  // Parameters and updates have a group, and no copies.
      whole_flops += op.flops;
    }
    EXPECT_EQ(copies, 2 * repeated) << name;
    EXPECT_NEAR(flops / whole_flops, 1, 0.05) << name;  // The same examples, and the sums of the gradients.
  }
}

TEST(TrainingStep, MoreMicrobatchesThanExamplesAreRefused) {
  EXPECT_THAT(BadInputOf([] { BuildPtb(SmallPtb(4), {.microbatches = 5}); }),
              HasSubstr("number of micro-batches is 5, expected 1..4, the batch"));
  EXPECT_THAT(BadInputOf([] { BuildPtb(SmallPtb(4), {.microbatches = 0}); }), HasSubstr("is 0, expected 1..4"));
  const std::vector<DeviceKind> kinds = LoadDeviceKinds(DefaultKindsFolder());
  EXPECT_THAT(
      BadInputOf([&] { GenerateFamily({.family = "nasnet", .count = 1, .train = 1, .microbatches = 8}, kinds); }),
      HasSubstr("graph nasnet: the number of micro-batches is 8, expected 1..7"));
}

}  // namespace
}  // namespace emplace
