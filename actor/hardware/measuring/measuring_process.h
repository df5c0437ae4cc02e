// Times steps in a process of its own, `emplace-hardware measure` (measuring_command.h): a step that hangs, that is
// ended for want of memory or that fails takes this process with it and nothing else, and the next placement gets a
// fresh one. It dies with the process that started it, however that one ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "actor/hardware/measuring/message_channel.h"
#include "actor/hardware/step_timer.h"
#include "common/files/file_descriptor.h"
#include "simulator/graph/op_graph.h"
#include "simulator/machine/cluster.h"

namespace emplace {

class MeasuringProcess : public StepTimer {
 public:
  struct Options {
    std::vector<std::string> command;  // Program and arguments.
    // Seconds for each step, and to make its placement ready for the first one, after which the process is ended.
    double step_limit_s = 30;
    std::function<bool()> is_over;  // Whether to give up what is waited for.
    bool times_parts = false;       // Whether samples have PartTimes.
  };
  // references: [graphs] the device of each graph's reference placement. Starts the process, which checks that all
  // graphs can be run on the machine's devices. Throws BadInput, in one line, where they cannot, RunFailed where the
  // process cannot be started or fails, and MeasurementCancelled.
  // Copies what it needs of graphs and machine.
  MeasuringProcess(const std::vector<OpGraph>& graphs, const Cluster& machine,
                   const std::vector<DeviceIndex>& references, Options options);
  ~MeasuringProcess() override;
  MeasuringProcess(const MeasuringProcess&) = delete;
  MeasuringProcess& operator=(const MeasuringProcess&) = delete;

  void Prepare(size_t graph, const OrderedPlacement& placement) override;
  StepSamples Time(const StepPlan& plan) override;

  pid_t pid() const { return pid_; }  // -1: there is none now.

 private:
  void Start();
  void End();
  // The status of a process that ends by itself until then; nullopt: it was ended.
  std::optional<int> StatusBy(std::chrono::steady_clock::time_point deadline);
  // Sends a request and returns the answer. Ends the process where neither an answer nor the end of a step comes within
  // the limit.
  nlohmann::json Ask(const std::string& request, std::chrono::milliseconds limit);

  const Options options_;
  const std::chrono::milliseconds step_limit_;
  std::string setup_;  // The first message to a fresh process.
  pid_t pid_ = -1;
  std::optional<MessageChannel> channel_;
  FileDescriptor finished_steps_;  // The pipe into which the process writes a byte for each step that has ended.
};

}  // namespace emplace
