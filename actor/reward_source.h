// Where the rewards of an actor's episodes come from: the simulator, or steps on hardware
// (hardware/measuring/measured_rewards.h).
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "actor/session.h"
#include "simulator/environment/measure.h"
#include "simulator/environment/simulated_measure.h"

namespace emplace {

// Thrown by RewardSource::Begin and Measure::Run when the actor is to end: what was under way is given up, and with it
// the episode.
struct MeasurementCancelled {};

// Used by one thread, the one that plays the episodes.
class RewardSource {
 public:
  virtual ~RewardSource() = default;

  // Whether the rewards are measured: the learner is told.
  virtual bool measures() const = 0;
  // Returns what measures placements of the session's tasks, from now on; what it has made for an earlier session is
  // used no more. Its measures call `is_over` while they wait. Throws BadInput for a session that it cannot serve.
  virtual MeasureFactory Begin(const std::shared_ptr<const Session>& session, std::function<bool()> is_over) = 0;
  // For how long windows were open, in this session, during which other work on this computer has paused.
  virtual std::chrono::microseconds window_time() const = 0;
};

class SimulatedRewards : public RewardSource {
 public:
  bool measures() const override { return false; }
  MeasureFactory Begin(const std::shared_ptr<const Session>& /*session*/, std::function<bool()> /*is_over*/) override {
    return MakeSimulatedMeasure;
  }
  std::chrono::microseconds window_time() const override { return std::chrono::microseconds(0); }
};

}  // namespace emplace
