// Steps of random graphs on a backend that computes with numbers in place of tensors.
#include "actor/hardware/step_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "actor/hardware/program/step_program.h"
#include "common/error.h"
#include "common/strings.h"
#include "tests/actor/hardware/number_step.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

class NumberBackend : public StepBackend {
 public:
  explicit NumberBackend(const StepProgram& program)
      : program_(program),
        posted_(program.values.size()),
        awaited_(program.devices.size()),
        needed_(program.devices.size()),
        numbers(program.values.size()) {}

  void PrepareThread(DeviceIndex) override {}
  void BeginStep(DeviceIndex device) override {
    awaited_[static_cast<size_t>(device)].clear();
    needed_[static_cast<size_t>(device)].clear();
  }
  void Run(DeviceIndex device, const StepInstruction& instruction) override {
    if (instruction.op == failing) throw RunFailed("op fails");
    // What this instruction needs was awaited, and nothing that only later ones need.
    std::set<int32_t>& needed = needed_[static_cast<size_t>(device)];
    needed.insert(instruction.awaits.begin(), instruction.awaits.end());
    EXPECT_EQ(awaited_[static_cast<size_t>(device)], needed);
    std::vector<uint64_t> inputs;
    for (const int32_t value : instruction.inputs) {
      if (value == StepValue::kNone) continue;
      EXPECT_EQ(program_.values[static_cast<size_t>(value)].device, device);
      inputs.push_back(numbers[static_cast<size_t>(value)].value());  // Throws where it is not there, or is freed.
    }
    for (size_t i = 0; i < instruction.outputs.size(); ++i) {
      if (instruction.outputs[i] == StepValue::kNone) continue;
      numbers[static_cast<size_t>(instruction.outputs[i])] = OutputNumber(instruction.op, i, inputs);
    }
  }
  void Post(DeviceIndex device, int32_t value) override {
    const StepValue& about = program_.values[static_cast<size_t>(value)];
    EXPECT_NE(about.device, device);
    if (about.source != StepValue::kNone) {
      EXPECT_TRUE(numbers[static_cast<size_t>(about.source)].has_value());
    }
    ++posted_[static_cast<size_t>(value)];
  }
  void Copy(DeviceIndex device, int32_t value) override {
    const StepValue& about = program_.values[static_cast<size_t>(value)];
    EXPECT_EQ(about.device, device);
    EXPECT_GT(posted_[static_cast<size_t>(value)], 0);
    numbers[static_cast<size_t>(value)] = numbers[static_cast<size_t>(about.source)].value();
  }
  void Await(DeviceIndex device, int32_t value) override {
    const StepValue& about = program_.values[static_cast<size_t>(value)];
    EXPECT_EQ(about.device, device);
    EXPECT_GT(posted_[static_cast<size_t>(value)], 0);
    EXPECT_TRUE(about.source == StepValue::kNone || numbers[static_cast<size_t>(value)].has_value());
    EXPECT_TRUE(awaited_[static_cast<size_t>(device)].insert(value).second);  // Once in a step.
  }
  void Free(int32_t value) override {
    EXPECT_TRUE(numbers[static_cast<size_t>(value)].has_value());
    numbers[static_cast<size_t>(value)].reset();
  }
  void Finish(DeviceIndex) override {}

 private:
  const StepProgram& program_;
  std::vector<int> posted_;                 // [values] how often, over all steps.
  std::vector<std::set<int32_t>> awaited_;  // [D] values in this step.
  std::vector<std::set<int32_t>> needed_;   // [D] likewise, by the instructions that have begun.

 public:
  std::vector<std::optional<uint64_t>> numbers;  // [values]
  OpIndex failing = -1;
};

std::vector<int64_t> NoBytes(const StepProgram& program) { return std::vector<int64_t>(program.values.size()); }

TEST(StepRunner, EveryPlacementComputesTheSameNumbersAndFreesTheRest) {
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    const RandomStep step(seed);
    const std::vector<std::vector<uint64_t>> expected = ExpectedNumbers(step.graph);
    NumberBackend backend(step.program);
    StepRunner runner(step.program, step.graph.num_ops(), NoBytes(step.program), backend);
    for (int repeat = 0; repeat < 2; ++repeat) {
      const StepTimes& times = runner.Run();
      for (const OpIndex op : step.graph.topological_order()) {
        const auto o = static_cast<size_t>(op);
        ASSERT_LE(times.op_begin_us[o], times.op_end_us[o]);
        ASSERT_LE(times.op_end_us[o], times.step_us);
        for (const OpInput& input : step.graph.op(op).inputs) {
          ASSERT_LE(times.op_end_us[static_cast<size_t>(input.producer)], times.op_begin_us[o]);
        }
      }
      for (size_t value = 0; value < backend.numbers.size(); ++value) {
        const StepValue& about = step.program.values[value];
        ASSERT_EQ(backend.numbers[value].has_value(), about.stays) << seed;
        if (!about.stays) continue;
        ASSERT_EQ(backend.numbers[value], expected[static_cast<size_t>(about.op)][static_cast<size_t>(about.output)]);
      }
    }
    // What nobody reads is a result, and only that.
    for (OpIndex op = 0; op < step.graph.num_ops(); ++op) {
      const bool is_result = std::binary_search(step.program.results.begin(), step.program.results.end(), op);
      ASSERT_EQ(is_result, step.graph.consumers().Row(op).empty());
    }
  }
}

TEST(StepRunner, AFailureOnOneDeviceEndsTheStepOnAll) {
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    RandomStep step(seed);
    NumberBackend backend(step.program);
    backend.failing = static_cast<OpIndex>(step.rng.UniformInt(0, step.graph.num_ops() - 1));
    StepRunner runner(step.program, step.graph.num_ops(), NoBytes(step.program), backend);
    EXPECT_THROW(runner.Run(), Error);
  }
}

TEST(StepRunner, AThrottledLinkSendsOneTensorAtATime) {
  // Two ops send 1000 bytes each at 10 bytes/us, with a latency of 50 us: not before 150 and 250 us after the first
  // ended.
  std::vector<Op> ops(4);
  for (size_t i = 0; i < 4; ++i) ops[i].name = std::string(1, static_cast<char>('a' + i));
  ops[0].outputs = ops[1].outputs = {{.bytes = 1000, .shape = {}, .dtype = ""}};
  ops[2].inputs = {{0, 0}};
  ops[3].inputs = {{1, 0}};
  const OpGraph graph("", std::move(ops));
  const StepProgram program = CompileStep(graph, {0, 0, 1, 1}, {{0, 1}, {2, 3}});
  NumberBackend backend(program);
  std::vector<int64_t> bytes(program.values.size(), 1000);
  StepRunner runner(program, 4, bytes, backend, {.bandwidth_bytes_per_us = 10, .latency_us = 50});
  const StepTimes& times = runner.Run();
  EXPECT_GE(times.op_begin_us[2], times.op_end_us[0] + 150);
  EXPECT_GE(times.op_begin_us[3], times.op_end_us[0] + 250);
}

TEST(CompileStep, LeavesUpdatesToTheOptimizer) {
  std::vector<Op> ops(3);
  const OpOutput number{.bytes = 4, .shape = {}, .dtype = "f32"};
  ops[0].name = "w";
  ops[0].type = "emplace.parameter";
  ops[0].outputs = {number};
  ops[1].name = "g";
  ops[1].inputs = {{0, 0}};
  ops[1].outputs = {number};
  ops[2].name = "w/update";
  ops[2].type = "emplace.update";
  ops[2].cost = OpCost::Everywhere(5);
  ops[2].inputs = {{0, 0}, {1, 0}};
  const OpGraph graph("", std::move(ops));
  const StepProgram program = CompileStep(graph, {0, 1, 0}, {{0, 2}, {1}});
  EXPECT_EQ(program.left_out, std::vector<OpIndex>{2});
  EXPECT_EQ(program.results, std::vector<OpIndex>{1});
  ASSERT_EQ(program.devices[0].size(), 1u);
  EXPECT_TRUE(program.devices[0][0].given);
  EXPECT_EQ(program.devices[0][0].sends.size(), 1u);  // The gradient's op reads the parameter; nothing comes back.
  EXPECT_EQ(program.devices[1][0].sends.size(), 0u);
  EXPECT_EQ(WithoutCostsOfOpsNotRun(graph).op(2).cost.On("cpu"), 0);
  EXPECT_THAT(WithoutCostsOfOpsNotRun(graph).op(2).inputs, ::testing::IsEmpty());
}

TEST(CompileStep, GivesReplicasTheGradientButNotTheUpdate) {
  std::vector<Op> ops(3);
  const OpOutput number{.bytes = 4, .shape = {}, .dtype = "f32"};
  ops[0].name = "w/gradient";
  ops[0].outputs = {number};
  for (const size_t replica : {1u, 2u}) {
    ops[replica].name = StrCat("part", replica, "/w/refresh");
    ops[replica].type = "emplace.refresh";
    ops[replica].inputs = {{0, 0}};
    ops[replica].outputs = {number};
  }
  ops[1].call_json = R"({"op": "aten.alias.default", "args": [{"in": 0}]})";
  const StepProgram program = CompileStep(OpGraph("", std::move(ops)), {0, 1, 1}, {{0}, {1, 2}});
  EXPECT_EQ(program.left_out, std::vector<OpIndex>{2});
  EXPECT_EQ(program.devices[0][0].sends.size(), 1u);
}

}  // namespace
}  // namespace emplace
