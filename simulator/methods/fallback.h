// What is handed to a user: never slower than one device.
#pragma once

#include <optional>
#include <string>

#include "simulator/methods/placement_method.h"

namespace emplace {

struct ChosenPlacement {
  Placement placement;
  MethodScore score;
  DeviceOrders orders;  // As in MethodResult.
  std::string discipline;
  bool fallback = false;  // It is the best single device's, which is better than what the method found.
};

// The placement of `result`, or the best single device's where that is better: where the method found none, or a slower
// one, or one that does not fit the devices' memory while one device is enough. nullopt: neither exists. `score` is
// Score(task, result). objective: by which the two are compared. order: one of OrderNames, which the single device gets
// too; empty: it gets none. stop: when to end the search for the best order.
std::optional<ChosenPlacement> MethodOrSingleDevice(const PlacementTask& task, const MethodResult& result,
                                                    const MethodScore& score, const std::string& order = "",
                                                    Objective objective = Objective::kLatency,
                                                    const StopSignal& stop = {});

}  // namespace emplace
