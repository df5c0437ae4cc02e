// What waits for what in a step where devices have streams. A stream is a queue of work that a device, such as a GPU,
// does in turn while the thread that gave the work goes on. Knows neither LibTorch nor CUDA: the backend gives streams
// their work, and tests make streams of threads.
//
// A device with streams computes on one. A tensor that it sends travels over a stream of its own for each receiver, so
// that sending and computing, and sending to several, go on side by side. Over another stream of its own travels what
// each device without streams sends to it. All streams of a device are given their work by the device's thread.
//
//   compute of A:  op, end of op  ............................. next op
//   A -> B:                 wait for it, copy, end of copy
//   compute of B:  ............................. wait for it, reading op
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <vector>

#include "actor/hardware/program/step_program.h"
#include "actor/hardware/step_runner.h"

namespace emplace {

// On which a device computes (from == to), or over which tensors travel. The latter is the sender's if the sender has
// streams, and the receiver's if not.
struct StreamId {
  DeviceIndex from = 0;
  DeviceIndex to = 0;

  auto operator<=>(const StreamId&) const = default;
};

constexpr StreamId ComputeStream(DeviceIndex device) { return {device, device}; }

// The streams of all devices, and marks in them: what GPUs call events. A mark is put anew in each step, always into
// the same stream; whoever waits for it waits for the latest one that was put before. Any thread may call any function.
class Streams {
 public:
  virtual ~Streams() = default;

  // Puts the mark behind all that the stream was given.
  virtual void Put(int32_t mark, StreamId stream) = 0;
  // The stream begins nothing that it is given from now on before the mark is reached.
  virtual void Wait(StreamId stream, int32_t mark) = 0;
  // Returns when the mark is reached.
  virtual void WaitOnHost(int32_t mark) = 0;
  // Returns when the stream has done all that it was given.
  virtual void Drain(StreamId stream) = 0;
  // The stream works with the memory of the value besides the stream that it was made on: once freed, the memory is
  // not used for anything else until the stream has done what it was given before that.
  virtual void Use(int32_t value, StreamId stream) = 0;
  // From one mark to another of the same device, by the device's clock. REQUIRES: both were reached, and have times.
  virtual double MicrosBetween(int32_t first, int32_t second) const = 0;
};

// Puts the marks of a step and has streams wait for them. Functions that take a device are called by its thread.
class StreamOrder {
 public:
  // has_streams: [D]. timed: whether ops and copies have times, which costs each two marks.
  // REQUIRES: program and streams outlive this; the streams have NumMarks marks.
  StreamOrder(const StepProgram& program, int32_t num_ops, std::vector<char> has_streams, bool timed, Streams& streams);
  static int32_t NumMarks(const StepProgram& program, int32_t num_ops);
  // The streams that a step needs, ascending.
  static std::vector<StreamId> StreamsOf(const StepProgram& program, const std::vector<char>& has_streams);

  bool HasStreams(DeviceIndex device) const { return has_streams_[static_cast<size_t>(device)] != 0; }
  // The copy's stream. REQUIRES: the value is a copy from or to a device with streams.
  StreamId LinkOf(int32_t value) const;

  // For a device with streams, which is idle: sets its clock by the host's.
  void BeginStep(DeviceIndex device);
  // Before and after the device's compute stream is given an op.
  void BeginOp(DeviceIndex device, const StepInstruction& instruction);
  void EndOp(DeviceIndex device, const StepInstruction& instruction);
  // Before and after the stream LinkOf(value) is given a copy to make; by the thread that the stream belongs to.
  void BeginCopy(int32_t value);
  void EndCopy(int32_t value);
  // What the device does from now on finds the value there: a copy, or a signal that an op has ended.
  void Await(DeviceIndex device, int32_t value);
  // Returns when all streams of the device have done what they were given.
  void Finish(DeviceIndex device);

  // Writes the times of what streams did, after a step that began at `start`. NaN where nothing is timed.
  void AddTimes(std::chrono::steady_clock::time_point start, StepTimes& times) const;

 private:
  using Clock = std::chrono::steady_clock;
  // A mark of a device with the host's time at which it was reached.
  struct Anchor {
    int32_t mark = 0;
    Clock::time_point time;
  };
  static constexpr DeviceIndex kNotComputed = -1;  // Given before the step, or left out.
  static constexpr int32_t kTries = 3;             // Of which the shortest says most about the device's clock.

  int32_t OpBegin(OpIndex op) const { return op; }
  int32_t OpEnd(OpIndex op) const { return num_ops_ + op; }
  int32_t CopyBegin(int32_t value) const { return 2 * num_ops_ + value; }
  int32_t CopyEnd(int32_t value) const { return CopyBegin(value) + static_cast<int32_t>(program_.values.size()); }
  int32_t AnchorMark(DeviceIndex device, int32_t attempt) const;
  DeviceIndex SenderOf(int32_t value) const;
  // Microseconds from `start` to a mark of the device.
  double At(DeviceIndex device, int32_t mark, Clock::time_point start) const;

  const StepProgram& program_;
  const int32_t num_ops_;
  const std::vector<char> has_streams_;  // [D]
  const bool timed_;
  const std::vector<StreamId> all_streams_;  // StreamsOf the program.
  Streams& streams_;
  std::vector<DeviceIndex> computed_on_;  // [n] the device that runs the op, or kNotComputed.
  std::vector<Anchor> anchors_;           // [D] each written by its device's thread.
};

}  // namespace emplace
