// Places a row of blocks as stages: each device gets blocks that follow each other, or none. Of all such divisions that
// fit the devices' memory, the one with the shortest step (latency) or the least load of the busiest device
// (throughput).
//
// divide.h is exact about what it knows. What stages need of memory, and how long a step takes in which ops do not wait
// for each other one by one, the simulator says: a division that does not fit teaches what its stages need, until one
// fits. For latency the best divisions into each number of stages, and those with blocks moved from a stage to the
// next, are simulated, and the fastest counts.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simulator/methods/placement_method.h"
#include "simulator/methods/stages/block_row.h"

namespace emplace {

struct StagesRequest {
  std::vector<int32_t> block_of_op;  // [n]
  int32_t num_blocks = 0;
  int32_t stages = 0;      // Exactly as many stages; 0: any number. REQUIRES: no more than blocks and devices.
  bool any_order = false;  // Whether devices may be used in another order than the machine's, where that is better.
  std::string order;       // One of OrderNames (disciplines.h), which the result gets; empty: none, or see may_order.
  bool may_order = false;  // Whether the result gets an order where the step is then faster or needs less memory.
};

class StagesMethod : public PlacementMethod {
 public:
  // Of the options it follows objective, seconds and stop; more time than a few simulated placements take changes
  // little.
  StagesMethod(StagesRequest request, const MethodOptions& options) : request_(std::move(request)), options_(options) {}

  // If no division fits, the result is the one with the fewest bytes over the memory; no placement: some block may run
  // on no device.
  MethodResult Place(const PlacementTask& task) override;
  // Of the last result; empty: there was no placement.
  const Division& division() const { return division_; }

 private:
  const StagesRequest request_;
  const MethodOptions options_;
  Division division_;
};

}  // namespace emplace
