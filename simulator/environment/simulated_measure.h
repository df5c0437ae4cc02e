// Measures placements by the simulator.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "simulator/engine/simulator.h"
#include "simulator/environment/measure.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Allocates in its constructor only.
class SimulatedMeasure : public Measure {
 public:
  // REQUIRES: task outlives it.
  explicit SimulatedMeasure(const PlacementTask& task);
  Measurement Run(std::span<const uint8_t> groups, std::span<const DeviceIndex> ops) override;
  bool Reproducible() const override { return true; }

 private:
  // Whether the bytes of all ops on each device would fit its memory at once, so that no peak has to be computed.
  bool FitsAnyhow(std::span<const uint8_t> groups);

  const PlacementTask& task_;
  Simulator simulator_;
  std::vector<int64_t> peak_bytes_;   // [D] of the last placement; 0 if FitsAnyhow
  std::vector<double> group_bytes_;   // [n] MostBytesOfOps of the group
  std::vector<double> placed_bytes_;  // [D] scratch of FitsAnyhow
};

// A MeasureFactory.
std::unique_ptr<Measure> MakeSimulatedMeasure(const PlacementTask& task);

}  // namespace emplace
