// Steps of random graphs on devices of which some work beside their threads, with delays that are left to chance.
#include "actor/hardware/devices/stream_order.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "actor/hardware/step_runner.h"
#include "tests/actor/hardware/fake_streams.h"
#include "tests/actor/hardware/number_step.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

constexpr double kCopyUs = 7;
double CostOf(OpIndex op) { return 1 + op % 5; }

// The memory of a value. Whoever frees it may still hold it, to see that.
struct Cell {
  std::atomic<bool> written = false;
  std::atomic<bool> used_again = false;  // By something else, after it was freed.
  uint64_t number = 0;
  Mutex mu;
  std::vector<StreamId> users EMPLACE_GUARDED_BY(mu);  // That have to be done with it before it is used again.
};

// Computes with numbers as TorchBackend does with tensors; memory that was freed is used again as soon as can be.
class StreamNumberBackend : public StepBackend {
 public:
  StreamNumberBackend(const RandomStep& step, const std::vector<char>& has_streams, bool timed, uint64_t seed)
      : cells(step.program.values.size()),
        graph_(step.graph),
        program_(step.program),
        ended_(static_cast<size_t>(step.graph.num_ops())),
        streams_(has_streams, seed, [this](int32_t value, StreamId stream) { AddUser(value, stream); }),
        order_(step.program, step.graph.num_ops(), has_streams, timed, streams_) {
    for (const std::vector<StepInstruction>& instructions : program_.devices) {
      for (const StepInstruction& instruction : instructions) {
        if (!instruction.given) continue;
        ended_[static_cast<size_t>(instruction.op)] = true;
        for (size_t i = 0; i < instruction.outputs.size(); ++i) {
          Write(*NewCell(instruction.outputs[i]), OutputNumber(instruction.op, i, {}));
        }
      }
    }
  }

  // Between steps: forgets what the last one did.
  void PrepareStep() {
    for (const std::vector<StepInstruction>& instructions : program_.devices) {
      for (const StepInstruction& instruction : instructions) {
        if (instruction.given) continue;
        ended_[static_cast<size_t>(instruction.op)] = false;
        for (const int32_t value : instruction.outputs) {
          if (value != StepValue::kNone) cells[static_cast<size_t>(value)] = nullptr;
        }
      }
    }
  }

  void PrepareThread(DeviceIndex) override {}
  void BeginStep(DeviceIndex device) override { order_.BeginStep(device); }

  void Run(DeviceIndex device, const StepInstruction& instruction) override {
    std::vector<std::shared_ptr<Cell>> inputs;
    for (const int32_t value : instruction.inputs) {
      if (value != StepValue::kNone) inputs.push_back(cells[static_cast<size_t>(value)]);
    }
    std::vector<std::shared_ptr<Cell>> outputs;
    for (const int32_t value : instruction.outputs) {
      outputs.push_back(value == StepValue::kNone ? nullptr : NewCell(value));
    }
    const auto compute = [this, op = instruction.op, inputs, outputs] {
      for (const OpInput& input : graph_.op(op).inputs) {
        if (!ended_[static_cast<size_t>(input.producer)]) ++too_early;
      }
      std::vector<uint64_t> numbers;
      for (const std::shared_ptr<Cell>& input : inputs) numbers.push_back(Read(*input));
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i] != nullptr) Write(*outputs[i], OutputNumber(op, i, numbers));
      }
      ended_[static_cast<size_t>(op)] = true;
    };
    if (!order_.HasStreams(device)) {
      compute();
      return;
    }
    order_.BeginOp(device, instruction);
    for (const int32_t value : instruction.outputs) {
      if (value != StepValue::kNone) AddUser(value, ComputeStream(device));
    }
    streams_.Give(ComputeStream(device), compute, CostOf(instruction.op));
    order_.EndOp(device, instruction);
  }

  void Post(DeviceIndex device, int32_t value) override {
    if (order_.HasStreams(device) && SourceOf(value) != StepValue::kNone) CopyByStream(value);
  }

  void Copy(DeviceIndex device, int32_t value) override {
    const int32_t source = SourceOf(value);
    if (order_.HasStreams(program_.values[static_cast<size_t>(source)].device)) return;
    if (order_.HasStreams(device)) {
      CopyByStream(value);
    } else {
      const uint64_t number = Read(*cells[static_cast<size_t>(source)]);
      Write(*NewCell(value), number);
    }
  }

  void Await(DeviceIndex device, int32_t value) override { order_.Await(device, value); }

  void Free(int32_t value) override {
    const std::shared_ptr<Cell> cell = std::move(cells[static_cast<size_t>(value)]);
    const MutexLock lock(cell->mu);
    if (cell->users.empty()) cell->used_again = true;
    const auto left = std::make_shared<std::atomic<size_t>>(cell->users.size());
    for (const StreamId user : cell->users) {
      streams_.Give(user, [cell, left] {
        if (left->fetch_sub(1) == 1) cell->used_again = true;
      });
    }
  }

  void Finish(DeviceIndex device) override { order_.Finish(device); }
  void AddTimes(std::chrono::steady_clock::time_point start, StepTimes& times) override {
    order_.AddTimes(start, times);
  }

  std::vector<std::shared_ptr<Cell>> cells;  // [values]
  std::atomic<int> too_early = 0;            // Reads of what was not there, and ops before those they come after.
  std::atomic<int> too_late = 0;             // Reads and writes of what was used again.

 private:
  int32_t SourceOf(int32_t value) const { return program_.values[static_cast<size_t>(value)].source; }

  std::shared_ptr<Cell> NewCell(int32_t value) { return cells[static_cast<size_t>(value)] = std::make_shared<Cell>(); }

  void AddUser(int32_t value, StreamId stream) {
    Cell& cell = *cells[static_cast<size_t>(value)];
    const MutexLock lock(cell.mu);
    cell.users.push_back(stream);
  }

  uint64_t Read(const Cell& cell) {
    if (!cell.written) ++too_early;
    if (cell.used_again) ++too_late;
    return cell.number;
  }

  void Write(Cell& cell, uint64_t number) {
    if (cell.used_again) ++too_late;
    cell.number = number;
    cell.written = true;
  }

  // What the host sends is read at once: TorchBackend brings it to pinned memory.
  void CopyByStream(int32_t value) {
    const StreamId link = order_.LinkOf(value);
    const std::shared_ptr<Cell> source = cells[static_cast<size_t>(SourceOf(value))];
    order_.BeginCopy(value);
    const std::shared_ptr<Cell> copy = NewCell(value);
    if (order_.HasStreams(link.to)) AddUser(value, link);
    if (order_.HasStreams(link.from)) {
      streams_.Give(
          link, [this, source, copy] { Write(*copy, Read(*source)); }, kCopyUs);
    } else {
      streams_.Give(
          link, [this, number = Read(*source), copy] { Write(*copy, number); }, kCopyUs);
    }
    order_.EndCopy(value);
  }

  const OpGraph& graph_;
  const StepProgram& program_;
  std::vector<std::atomic<bool>> ended_;  // [n]
  FakeStreams streams_;
  StreamOrder order_;
};

// A step with streams on some devices, on none, or on all.
struct StreamStep {
  explicit StreamStep(uint64_t seed, bool timed = true)
      : step(seed, /*with_given=*/true),
        has_streams(Draw(seed)),
        backend(step, has_streams, timed, seed),
        runner(step.program, step.graph.num_ops(), std::vector<int64_t>(step.program.values.size()), backend) {}

  std::vector<char> Draw(uint64_t seed) {
    std::vector<char> drawn;
    for (size_t device = 0; device < step.program.devices.size(); ++device) {
      drawn.push_back(seed % 8 == 0 || (seed % 8 != 1 && step.rng.UniformInt(0, 1) == 0) ? 1 : 0);
    }
    return drawn;
  }
  bool OnStreams(OpIndex op) const {
    return has_streams[static_cast<size_t>(step.placement[static_cast<size_t>(op)])] != 0;
  }

  RandomStep step;
  std::vector<char> has_streams;
  StreamNumberBackend backend;
  StepRunner runner;
};

TEST(StreamOrder, NothingIsReadBeforeItIsThereOrAfterItWasFreed) {
  for (uint64_t seed = 0; seed < Trials(120); ++seed) {
    StreamStep run(seed, /*timed=*/seed % 3 != 0);
    const StepProgram& program = run.step.program;
    const std::vector<std::vector<uint64_t>> expected = ExpectedNumbers(run.step.graph);
    for (int repeat = 0; repeat < 2; ++repeat) {
      run.backend.PrepareStep();
      run.runner.Run();
      ASSERT_EQ(run.backend.too_early, 0) << seed;
      ASSERT_EQ(run.backend.too_late, 0) << seed;
      for (size_t value = 0; value < program.values.size(); ++value) {
        const StepValue& about = program.values[value];
        const std::shared_ptr<Cell>& cell = run.backend.cells[value];
        ASSERT_EQ(cell != nullptr, about.stays) << seed;
        if (!about.stays) continue;
        ASSERT_TRUE(cell->written && !cell->used_again);
        ASSERT_EQ(cell->number, expected[static_cast<size_t>(about.op)][static_cast<size_t>(about.output)]);
      }
    }
  }
}

TEST(StreamOrder, TimesAreThoseOfTheDevicesClocks) {
  constexpr double kRounding = 1e-6;  // Of doubles.
  for (uint64_t seed = 0; seed < Trials(60); ++seed) {
    StreamStep run(seed);
    const StepProgram& program = run.step.program;
    run.runner.Run();
    run.backend.PrepareStep();
    const auto before = std::chrono::steady_clock::now();
    const StepTimes& times = run.runner.Run();
    // The time that passed before the step began is no more than what the step leaves of this.
    const double around_us =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - before).count();
    for (const std::vector<StepInstruction>& instructions : program.devices) {
      double last_us = -std::numeric_limits<double>::infinity();
      for (const StepInstruction& instruction : instructions) {
        if (instruction.given) continue;
        const auto op = static_cast<size_t>(instruction.op);
        ASSERT_GE(times.op_begin_us[op], last_us - kRounding) << seed;
        ASSERT_GE(times.op_end_us[op], times.op_begin_us[op]);
        last_us = times.op_end_us[op];
        if (!run.OnStreams(instruction.op)) continue;
        if (&instruction == &instructions.front() && instruction.awaits.empty()) {
          // Made-up clocks stand still until there is work: the op begins when the clock was set, before the step.
          ASSERT_LE(times.op_begin_us[op], 0);
          ASSERT_GE(times.op_begin_us[op], times.step_us - around_us - kRounding);
        }
        ASSERT_NEAR(times.op_end_us[op] - times.op_begin_us[op], CostOf(instruction.op), kRounding) << seed;
      }
    }
    for (size_t value = 0; value < program.values.size(); ++value) {
      const StepValue& about = program.values[value];
      if (about.source == StepValue::kNone) continue;
      ASSERT_FALSE(std::isnan(times.copy_end_us[value]));
      if (!run.OnStreams(about.op)) continue;
      ASSERT_NEAR(times.copy_end_us[value] - times.copy_begin_us[value], kCopyUs, kRounding);
      const double made_us = times.op_end_us[static_cast<size_t>(about.op)];
      if (!std::isnan(made_us)) {
        ASSERT_GE(times.copy_begin_us[value], made_us - kRounding);
      }
    }
  }
}

TEST(StreamOrder, WithoutTimesWhatStreamsDoHasNone) {
  for (uint64_t seed = 0; seed < Trials(20); ++seed) {
    StreamStep run(seed, /*timed=*/false);
    const StepTimes& times = run.runner.Run();
    for (OpIndex op = 0; op < run.step.graph.num_ops(); ++op) {
      const bool is_timed = !IsGiven(run.step.graph.op(op)) && !run.OnStreams(op);
      ASSERT_EQ(!std::isnan(times.op_end_us[static_cast<size_t>(op)]), is_timed);
    }
    for (size_t value = 0; value < run.step.program.values.size(); ++value) {
      const StepValue& about = run.step.program.values[value];
      const bool is_timed = about.source != StepValue::kNone && !run.OnStreams(about.op) &&
                            run.has_streams[static_cast<size_t>(about.device)] == 0;
      ASSERT_EQ(!std::isnan(times.copy_end_us[value]), is_timed);
    }
    ASSERT_GE(times.step_us, 0);
  }
}

}  // namespace
}  // namespace emplace
