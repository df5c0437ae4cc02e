// The linear relaxation of assigning ops to devices, for lower_bound.h.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "common/ids.h"
#include "common/threads/stop.h"
#include "simulator/engine/sim_graph.h"

namespace emplace {

// Devices on which every op takes the same time, and their memory together.
struct DeviceClass {
  DeviceIndex first;
  double devices = 0;
  double memory_bytes = 0;
};

std::vector<DeviceClass> ClassesOf(const SimGraph& graph);

// Whether some devices that take the same times lack memory for all parameters.
bool MemoryMatters(const SimGraph& graph, const std::vector<DeviceClass>& classes);

// The dual of the assignment's relaxation. A device of class c has the weight w_c >= 0, with a sum over devices of 1,
// and a byte of its memory the price p_c >= 0. An op's share of the makespan is the least of w_c * its time + p_c * its
// parameters. For any weights and prices, shares of all ops less the prices of all memory are a lower bound. Where they
// are more than any step can take, no placement fits the memory; then the bound is that without prices.
//
// Ops on one path run one after the other wherever they are: there the weights are 1 for each device, and the ops
// beside the path take no time, though memory.
class Relaxation {
 public:
  // path: its ops; empty: the bound is of all work, shared out. REQUIRES: all but path outlive this.
  Relaxation(const SimGraph& graph, const StopSignal& stop, const std::vector<DeviceClass>& classes,
             std::span<const OpIndex> path = {});

  double best_us() const { return best_us_; }
  // [n] shares without prices, which a bound for some of the ops may add up.
  std::vector<double> Shares() const;

 private:
  double WeightOfAll() const;
  // An op's part of the bound on a device of the class, but for its memory; NaN if it may not run there.
  double PartUs(OpIndex op, size_t c, double weight_of_all) const;
  double Value() const;
  void Begin();  // With equal weights and without prices.
  // Raises one number after the other. The dual is concave in the prices and in the ratios of the weights.
  void Maximize();
  // Prices at which it is equal, in the mean, whether bytes are on the class that takes the rest or on a faster one:
  // raised one after the other, ops only move from a class to the next that is still free.
  void TryPricesByRest();
  // These return whether the value with the new numbers is better by more than rounding; else they leave the old ones.
  bool TryPrices(const std::vector<double>& prices, double scale);  // Times `scale`.
  bool TryValue(double& number, double value);
  void TryFactors(double& number);
  // Whether the value is better than the best so far, which it then becomes.
  bool IsBest();

  const SimGraph& graph_;
  const StopSignal& stop_;
  const std::vector<DeviceClass>& classes_;
  std::vector<bool> on_path_;  // [n] or empty
  bool memory_matters_ = false;
  double most_us_ = std::numeric_limits<double>::infinity();  // That any step can take, where memory matters.
  bool nothing_fits_ = false;
  std::vector<double> weights_;  // Of a device of each class, before they are scaled to a sum of 1.
  std::vector<double> prices_;   // us a byte
  double price_scale_ = 0;       // The price at which all memory costs as much as all work.
  double best_us_ = 0;
};

}  // namespace emplace
