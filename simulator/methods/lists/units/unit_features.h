// What the method `list` knows of putting a unit on a device: numbers that tell how good that would be. Their weighted
// sum is the device's score (unit_scorer.h).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "common/ids.h"
#include "simulator/methods/lists/list_schedule.h"
#include "simulator/methods/lists/units/unit_facts.h"

namespace emplace {

// A unit as the schedule so far would have it on a device.
struct UnitFit {
  DeviceIndex device = -1;
  double start_us = 0;
  double cost_us = 0;
  double finish_us = 0;   // The sum of both.
  double sent_us = 0;     // Time of the transfers that it has to wait for.
  double sent_bytes = 0;  // Bytes of these.
};

// A number for each feature: the features of a unit on a device, or their weights. UnitFeatureTable says what they are.
struct UnitFeatures {
  double finish_behind = 0;
  double finish_behind_path = 0;
  double finish_behind_log = 0;
  double finish_behind_path_log = 0;
  double finishes_first = 0;
  double start_behind = 0;
  double start_behind_path = 0;
  double cost = 0;
  double transfers = 0;
  double transfers_path = 0;
  double inputs_there = 0;
  double producers_there = 0;
  double last_producer_there = 0;
  double load = 0;
  double load_behind = 0;
  double idle = 0;
  double inserted = 0;
  double link_busy = 0;
  double unused = 0;
  double unused_of_many = 0;
  double lengthens = 0;
  double co_producers_there = 0;
  double earlier_there = 0;
  double microbatch_there = 0;
  double parameters_finish = 0;
  double memory = 0;
  double late_finish = 0;
  double late_load = 0;
  double part_there = 0;
  double fine_part_there = 0;

  bool operator==(const UnitFeatures&) const = default;
};
// The weights set by hand: a unit goes where it finishes first.
inline constexpr UnitFeatures kHandSetWeights = {.finish_behind = -1};
inline constexpr size_t kNumUnitFeatures = sizeof(UnitFeatures) / sizeof(double);

struct UnitFeature {
  const char* name;
  double UnitFeatures::*member;
  const char* help;
};
// All of them, in the order of the struct.
std::span<const UnitFeature, kNumUnitFeatures> UnitFeatureTable();

// Makes features as a schedule grows. The time for a unit is proportional to its inputs and to its readers, for each
// device. Not thread-safe. n units, D devices.
class UnitFeatureMaker {
 public:
  // REQUIRES: both outlive this; facts are of the graph.
  UnitFeatureMaker(const ScheduleGraph& graph, const UnitFacts& facts);

  // The features of each fit of a unit, [fits]; valid until the next call. parameters: the free sources that would be
  // placed together with it. REQUIRES: what it reads besides is placed in `units`; fits are not empty.
  std::span<const UnitFeatures> Of(OpIndex unit, std::span<const UnitFit> fits, std::span<const OpIndex> parameters,
                                   const UnitPlacement& units);
  // The unit was put there.
  void Placed(OpIndex unit, const UnitFit& fit);
  // The device's sending link is busy until then with what has been sent.
  void Sent(DeviceIndex from, double busy_until_us);

 private:
  // What Of needs of a unit, whatever the device is.
  struct UnitView {
    double first_finish_us = 0;
    double first_start_us = 0;
    double least_cost_us = 0;
    double least_load_us = 0;
    double used_devices = 0;            // Share of the devices.
    double new_bytes = 0;               // Of the unit with its parameters.
    DeviceIndex last_producer_on = -1;  // -1: none
    DeviceIndex earlier_on = -1;        // -1: none
    // Factors that make shares, 0 where there is nothing: of
    double per_unit = 0;                                     // its mean time,
    double per_load = 0;                                     // the mean load of devices,
    double per_input = 0;                                    // the number of tensors that it reads,
    double per_input_byte = 0;                               // their bytes,
    double per_co_input = 0;                                 // the number of those that its readers read besides,
    double per_microbatch = 0;                               // the work so far of its micro-batch
    std::array<double, UnitFacts::kNumParts> per_part = {};  // and of its parts.
  };
  // Running sums of work by device, for things such as micro-batches.
  class WorkByDevice {
   public:
    WorkByDevice(int32_t things, size_t devices);
    void Add(int32_t thing, DeviceIndex device, double us);
    double Us(int32_t thing) const { return sum_us_[static_cast<size_t>(thing)]; }
    double Us(int32_t thing, DeviceIndex device) const {
      return us_[static_cast<size_t>(thing) * devices_ + static_cast<size_t>(device)];
    }

   private:
    size_t devices_;
    std::vector<double> us_;      // [things * D]
    std::vector<double> sum_us_;  // [things]
  };

  UnitView View(OpIndex unit, std::span<const UnitFit> fits, std::span<const OpIndex> parameters,
                const UnitPlacement& units);
  // Writes all features of a fit to f.
  void WriteFit(OpIndex unit, const UnitFit& fit, const UnitView& view, bool has_parameters, const UnitPlacement& units,
                UnitFeatures& f) const;

  const ScheduleGraph& graph_;
  const UnitFacts& facts_;
  const double per_path_;  // Makes hundredths of the longest path of times.
  const size_t num_devices_;
  std::vector<double> finish_us_;     // [n] 0: not placed, or free
  std::vector<double> load_us_;       // [D] work on each device
  std::vector<double> end_us_;        // [D] when the last unit ends
  std::vector<double> link_busy_us_;  // [D] until when its sending link is busy
  std::vector<int32_t> co_inputs_;    // [n * D] tensors that the unit reads, by where they were made
  double all_load_us_ = 0;            // Sum over devices
  double end_estimate_us_ = 0;        // The makespan by what is placed and what follows of it
  WorkByDevice microbatch_work_;
  std::vector<WorkByDevice> part_work_;  // [kNumParts]
  std::vector<int32_t> inputs_from_;     // [D] of the unit at hand, and
  std::vector<int32_t> co_inputs_from_;  // [D] of its readers. Scratch.
  std::vector<UnitFeatures> features_;   // Scratch.
};

}  // namespace emplace
