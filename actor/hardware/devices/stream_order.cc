#include "actor/hardware/devices/stream_order.h"

#include <limits>
#include <set>
#include <utility>

namespace emplace {
namespace {

bool Has(const std::vector<char>& has_streams, DeviceIndex device) {
  return has_streams[static_cast<size_t>(device)] != 0;
}

}  // namespace

StreamOrder::StreamOrder(const StepProgram& program, int32_t num_ops, std::vector<char> has_streams, bool timed,
                         Streams& streams)
    : program_(program),
      num_ops_(num_ops),
      has_streams_(std::move(has_streams)),
      timed_(timed),
      all_streams_(StreamsOf(program, has_streams_)),
      streams_(streams),
      computed_on_(static_cast<size_t>(num_ops), kNotComputed),
      anchors_(program.devices.size()) {
  for (size_t device = 0; device < program.devices.size(); ++device) {
    for (const StepInstruction& instruction : program.devices[device]) {
      if (!instruction.given) computed_on_[static_cast<size_t>(instruction.op)] = static_cast<DeviceIndex>(device);
    }
  }
}

int32_t StreamOrder::NumMarks(const StepProgram& program, int32_t num_ops) {
  return 2 * num_ops + static_cast<int32_t>(2 * program.values.size() + kTries * program.devices.size());
}

int32_t StreamOrder::AnchorMark(DeviceIndex device, int32_t attempt) const {
  return CopyBegin(0) + static_cast<int32_t>(2 * program_.values.size()) + kTries * device + attempt;
}

std::vector<StreamId> StreamOrder::StreamsOf(const StepProgram& program, const std::vector<char>& has_streams) {
  std::set<StreamId> found;
  for (size_t device = 0; device < program.devices.size(); ++device) {
    if (has_streams[device] != 0) found.insert(ComputeStream(static_cast<DeviceIndex>(device)));
  }
  for (const StepValue& value : program.values) {
    if (value.source == StepValue::kNone) continue;
    const DeviceIndex sender = program.values[static_cast<size_t>(value.source)].device;
    if (Has(has_streams, sender) || Has(has_streams, value.device)) found.insert({sender, value.device});
  }
  return {found.begin(), found.end()};
}

DeviceIndex StreamOrder::SenderOf(int32_t value) const {
  const int32_t source = program_.values[static_cast<size_t>(value)].source;
  return program_.values[static_cast<size_t>(source)].device;
}

StreamId StreamOrder::LinkOf(int32_t value) const {
  return {SenderOf(value), program_.values[static_cast<size_t>(value)].device};
}

void StreamOrder::BeginStep(DeviceIndex device) {
  if (!timed_ || !HasStreams(device)) return;
  Clock::duration shortest = Clock::duration::max();
  for (int32_t attempt = 0; attempt < kTries; ++attempt) {
    const int32_t mark = AnchorMark(device, attempt);
    const Clock::time_point before = Clock::now();
    streams_.Put(mark, ComputeStream(device));
    streams_.WaitOnHost(mark);
    const Clock::duration took = Clock::now() - before;
    if (took >= shortest) continue;
    shortest = took;
    anchors_[static_cast<size_t>(device)] = {mark, before + took / 2};
  }
}

void StreamOrder::BeginOp(DeviceIndex device, const StepInstruction& instruction) {
  if (timed_) streams_.Put(OpBegin(instruction.op), ComputeStream(device));
}

void StreamOrder::EndOp(DeviceIndex device, const StepInstruction& instruction) {
  if (timed_ || !instruction.sends.empty()) streams_.Put(OpEnd(instruction.op), ComputeStream(device));
}

void StreamOrder::BeginCopy(int32_t value) {
  const StreamId link = LinkOf(value);
  if (!HasStreams(link.from)) return;  // The host has the tensor, and the time at which it begins to send it.
  const OpIndex op = program_.values[static_cast<size_t>(value)].op;
  if (computed_on_[static_cast<size_t>(op)] != kNotComputed) streams_.Wait(link, OpEnd(op));
  if (timed_) streams_.Put(CopyBegin(value), link);
}

void StreamOrder::EndCopy(int32_t value) {
  const StreamId link = LinkOf(value);
  streams_.Put(CopyEnd(value), link);
  if (HasStreams(link.from)) streams_.Use(program_.values[static_cast<size_t>(value)].source, link);
  if (HasStreams(link.to)) streams_.Use(value, ComputeStream(link.to));
}

void StreamOrder::Await(DeviceIndex device, int32_t value) {
  const StepValue& about = program_.values[static_cast<size_t>(value)];
  int32_t mark = 0;
  if (about.source != StepValue::kNone) {
    if (!HasStreams(SenderOf(value)) && !HasStreams(device)) return;
    mark = CopyEnd(value);
  } else {
    const DeviceIndex signaller = computed_on_[static_cast<size_t>(about.op)];
    if (signaller == kNotComputed || !HasStreams(signaller)) return;
    mark = OpEnd(about.op);
  }
  if (HasStreams(device)) {
    streams_.Wait(ComputeStream(device), mark);
  } else {
    streams_.WaitOnHost(mark);
  }
}

void StreamOrder::Finish(DeviceIndex device) {
  for (const StreamId stream : all_streams_) {
    const DeviceIndex owner = HasStreams(stream.from) ? stream.from : stream.to;
    if (owner == device) streams_.Drain(stream);
  }
}

double StreamOrder::At(DeviceIndex device, int32_t mark, Clock::time_point start) const {
  if (!timed_) return std::numeric_limits<double>::quiet_NaN();
  const Anchor& anchor = anchors_[static_cast<size_t>(device)];
  return std::chrono::duration<double, std::micro>(anchor.time - start).count() +
         streams_.MicrosBetween(anchor.mark, mark);
}

void StreamOrder::AddTimes(Clock::time_point start, StepTimes& times) const {
  for (size_t op = 0; op < computed_on_.size(); ++op) {
    const DeviceIndex device = computed_on_[op];
    if (device == kNotComputed || !HasStreams(device)) continue;
    times.op_begin_us[op] = At(device, OpBegin(static_cast<OpIndex>(op)), start);
    times.op_end_us[op] = At(device, OpEnd(static_cast<OpIndex>(op)), start);
  }
  for (size_t value = 0; value < program_.values.size(); ++value) {
    if (program_.values[value].source == StepValue::kNone) continue;
    const auto copy = static_cast<int32_t>(value);
    const StreamId link = LinkOf(copy);
    if (HasStreams(link.from)) {
      times.copy_begin_us[value] = At(link.from, CopyBegin(copy), start);
      times.copy_end_us[value] = At(link.from, CopyEnd(copy), start);
    } else if (HasStreams(link.to)) {
      times.copy_end_us[value] = At(link.to, CopyEnd(copy), start);
    }
  }
}

}  // namespace emplace
