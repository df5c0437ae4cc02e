#include "actor/hardware/measuring/measured_rewards.h"

#include <utility>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {

MeasuredRewards::MeasuredRewards(std::vector<std::string> command, std::optional<Cluster> devices)
    : command_(std::move(command)), devices_(std::move(devices)) {}

Cluster MeasuredRewards::MachineFor(const Session& session) const {
  if (!devices_) return session.machine;
  const std::vector<Device>& theirs = session.machine.devices;
  const std::vector<Device>& ours = devices_->devices;
  if (ours.size() != theirs.size()) {
    throw BadInput(StrCat("--devices: has ", ours.size(), " devices, expected ", theirs.size(), " as the learner's"));
  }
  for (size_t d = 0; d < ours.size(); ++d) {
    if (ours[d].kind == theirs[d].kind) continue;
    throw BadInput(StrCat("--devices: '", ours[d].name, "' is of kind ", ours[d].kind, ", expected ", theirs[d].kind,
                          " as the learner's '", theirs[d].name, "'"));
  }
  return *devices_;
}

MeasureFactory MeasuredRewards::Begin(const std::shared_ptr<const Session>& session, std::function<bool()> is_over) {
  if (session->config.training.lockstep()) {
    throw BadInput("training.sync is lockstep, expected async: nobody can repeat measured rewards");
  }
  if (session->graphs.empty()) throw BadInput("the learner has sent no ops of its graphs, expected those to be run");
  std::vector<DeviceIndex> references;
  for (const PlacementTask& task : session->tasks) {
    if (task.single_device < 0) throw NoReference(StrCat("graph '", task.name, "'"));
    references.push_back(task.single_device);
  }
  meter_.reset();
  process_.reset();
  session_ = session;
  const HardwareConfig& config = session->config.hardware;
  process_ = std::make_unique<MeasuringProcess>(
      session->graphs, MachineFor(*session), references,
      MeasuringProcess::Options{.command = command_, .step_limit_s = config.timeout_s, .is_over = is_over});
  meter_ = std::make_unique<HardwareMeter>(config, *process_, lock_, std::move(is_over));
  return [this](const PlacementTask& task) -> std::unique_ptr<Measure> {
    const auto graph = static_cast<size_t>(&task - session_->tasks.data());
    EMPLACE_CHECK(graph < session_->tasks.size());
    return std::make_unique<HardwareMeasure>(task, graph, session_->config.hardware, *meter_);
  };
}

std::chrono::microseconds MeasuredRewards::window_time() const {
  return meter_ ? meter_->window_time() : std::chrono::microseconds(0);
}

}  // namespace emplace
