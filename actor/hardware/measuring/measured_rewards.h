// Rewards that are measured on the devices of this computer (hardware_measure.h).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actor/hardware/measuring/hardware_measure.h"
#include "actor/hardware/measuring/measuring_process.h"
#include "actor/reward_source.h"
#include "common/threads/machine_lock.h"
#include "simulator/machine/cluster.h"

namespace emplace {

class MeasuredRewards : public RewardSource {
 public:
  // command: of the measuring process. devices: those of this computer in place of the learner's machine; nullopt: they
  // have the names and cores that the learner's machine file gives them.
  MeasuredRewards(std::vector<std::string> command, std::optional<Cluster> devices);

  bool measures() const override { return true; }
  // Throws BadInput for a graph that cannot be run, or that no single device can run for a reference; for devices that
  // are not here; and for a run in lockstep.
  MeasureFactory Begin(const std::shared_ptr<const Session>& session, std::function<bool()> is_over) override;
  std::chrono::microseconds window_time() const override;

 private:
  Cluster MachineFor(const Session& session) const;

  const std::vector<std::string> command_;
  const std::optional<Cluster> devices_;
  MachineLock lock_;
  std::shared_ptr<const Session> session_;
  std::unique_ptr<MeasuringProcess> process_;
  std::unique_ptr<HardwareMeter> meter_;
};

}  // namespace emplace
