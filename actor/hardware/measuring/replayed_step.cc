#include "actor/hardware/measuring/replayed_step.h"

#include <algorithm>
#include <cmath>

#include "common/error.h"

namespace emplace {
namespace {

double OrZero(double us) { return std::isnan(us) ? 0 : us; }

class Replay {
 public:
  Replay(const StepProgram& program, const std::vector<double>& op_us, const std::vector<double>& copy_us)
      : program_(program),
        op_us_(op_us),
        copy_us_(copy_us),
        devices_(program.devices.size()),
        is_posted_(program.values.size()),
        posted_us_(program.values.size()) {}

  double Run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t device = 0; device < devices_.size(); ++device) moved |= Advance(device);
    }
    double end_us = 0;
    for (size_t device = 0; device < devices_.size(); ++device) {
      EMPLACE_CHECK(devices_[device].next == program_.devices[device].size());
      end_us = std::max(end_us, devices_[device].free_us);
    }
    return end_us;
  }

 private:
  struct DeviceState {
    size_t next = 0;  // Index of the instruction that it runs next.
    double free_us = 0;
    std::vector<int32_t> inbox;  // Values that were posted and not copied yet.
  };

  // Runs what can be run of the device's instructions until one awaits a value that is not posted yet.
  bool Advance(size_t device) {
    DeviceState& state = devices_[device];
    const size_t begin = state.next;
    for (; state.next < program_.devices[device].size(); ++state.next) {
      const StepInstruction& instruction = program_.devices[device][state.next];
      const auto is_posted = [this](int32_t value) {
        return static_cast<bool>(is_posted_[static_cast<size_t>(value)]);
      };
      if (!std::ranges::all_of(instruction.awaits, is_posted)) break;
      for (const int32_t value : instruction.awaits) Await(state, value);
      if (!instruction.given) state.free_us += OrZero(op_us_[static_cast<size_t>(instruction.op)]);
      for (const int32_t value : instruction.sends) Post(value, state.free_us);
    }
    return state.next > begin;
  }

  void Post(int32_t value, double at_us) {
    is_posted_[static_cast<size_t>(value)] = true;
    posted_us_[static_cast<size_t>(value)] = at_us;
    devices_[static_cast<size_t>(program_.values[static_cast<size_t>(value)].device)].inbox.push_back(value);
  }

  // Copies what was posted before the value, and the value, unless it is here.
  void Await(DeviceState& state, int32_t value) {
    const auto posted_us = [this](int32_t of) { return posted_us_[static_cast<size_t>(of)]; };
    if (std::ranges::find(state.inbox, value) == state.inbox.end()) return;
    std::ranges::stable_sort(state.inbox, {}, posted_us);
    const auto end = std::ranges::find(state.inbox, value) + 1;
    for (auto next = state.inbox.begin(); next != end; ++next) {
      state.free_us = std::max(state.free_us, posted_us(*next)) + OrZero(copy_us_[static_cast<size_t>(*next)]);
    }
    state.inbox.erase(state.inbox.begin(), end);
  }

  const StepProgram& program_;
  const std::vector<double>& op_us_;
  const std::vector<double>& copy_us_;
  std::vector<DeviceState> devices_;
  std::vector<bool> is_posted_;    // [values]
  std::vector<double> posted_us_;  // [values]
};

}  // namespace

double ReplayedStepUs(const StepProgram& program, const std::vector<double>& op_us,
                      const std::vector<double>& copy_us) {
  return Replay(program, op_us, copy_us).Run();
}

}  // namespace emplace
