// A search for a placement by few measured steps. Each round has three parts: a simulated search with the costs as they
// are corrected so far gives candidates; the one that is fastest in that simulation is measured; what its ops and
// copies took corrects the costs (corrected_costs.h). Every second candidate comes from costs that are varied at
// random, for the simulator is wrong in more than ratios. At the end the best few are measured again in turns, so that
// the one with the luckiest measurement is not taken for the best.
//
// The reference, all ops on one device, counts as measured: its ratio is 1. It is the result where nothing is faster,
// unless it does not fit the memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "actor/hardware/search/candidate_pool.h"
#include "actor/hardware/search/corrected_costs.h"
#include "actor/hardware/search/measured_step.h"
#include "common/threads/stop.h"

namespace emplace {

// What a simulated search is asked for. Valid during the call.
struct PlacingRequest {
  const OpGraph& graph;
  const Cluster& machine;
  std::string method;  // Name of a PlacementMethod.
  uint64_t seed = 1;
};
// Places a graph by simulation. nullopt: the method finds no placement that fits the memory. May throw Stopped.
using Placer = std::function<std::optional<OrderedPlacement>(const PlacingRequest&)>;
// Measures a placed step. nullopt: it fails or hangs. May throw Stopped.
using StepMeter = std::function<std::optional<MeasuredStep>(const OrderedPlacement&)>;

// A placement that was measured.
struct Trial {
  Candidate candidate;
  double simulated_us = 0;                     // With the costs as given.
  double corrected_us = 0;                     // With the costs as corrected before it was measured.
  std::optional<double> ratio = std::nullopt;  // Measured step time over the reference's; nullopt: the step has failed.
  std::vector<double> again = {};              // The ratios that were measured at the end.
};

struct MeasuredSearchOptions {
  int32_t measurements = 30;  // At most, failed ones included; at least 1.
  double spread = 0.1;        // Of varied costs, at the begin; less later on (VaryCosts).
  uint64_t seed = 1;
  StopSignal stop = {};  // Asked between the parts of a round.
  // Called after each measurement. done: how many there are so far.
  std::function<void(const Trial& trial, int32_t done)> progress = nullptr;
};

struct MeasuredSearchResult {
  OrderedPlacement placement;  // The best; with an order for each device, unless it is the reference.
  std::string origin;          // What found it; "single": it is the reference.
  double ratio = 1;         // Measured step time over the reference's, by the measurements at the end where it has any.
  double reference_us = 0;  // Median step time of the reference; 0: the methods find no other placement to measure.
  double simulated_us = 0;  // Of the placement, with the costs as given.
  double corrected_us = 0;  // Of the placement, with the costs as corrected in the end.
  int32_t measurements = 0;  // Failed ones included.
  int32_t failed = 0;
  bool stopped = false;       // It was stopped before it had made all its measurements.
  std::vector<Trial> trials;  // In the order in which they were first measured.
};

// reference: the device of the reference. Deterministic in what the placer and the meter return. Throws Stopped where
// it is stopped before a step was measured, RunFailed where every measured step has failed or no placement fits the
// memory, and what placer and meter throw. REQUIRES: the reference device may run every op.
MeasuredSearchResult SearchByMeasuring(const OpGraph& graph, const Cluster& machine, DeviceIndex reference,
                                       const MeasuredSearchOptions& options, const Placer& placer,
                                       const StepMeter& meter);

}  // namespace emplace
