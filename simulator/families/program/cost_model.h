// The cost of an op on a device kind, by a roofline model (Williams et al. 2009): the larger of FLOPs / attainable rate
// and bytes / attainable bandwidth, a share of the smaller, and the time of a launch. The attainable shares depend on
// the op's class, and the rate also on its size.
#pragma once

#include <cstdint>

#include "simulator/families/program/device_kind.h"
#include "simulator/families/program/op_table.h"

namespace emplace {

// The properties of an op that determine its cost.
struct OpWork {
  OpClass op_class = OpClass::kElementwise;
  ElementType type = ElementType::kFloat32;  // Type of the numbers that the op computes with.
  double flops = 0;
  int64_t bytes = 0;
};
OpWork WorkOf(const OpCall& call);

// The cost in us, rounded to nanoseconds; 0 for OpClass::kResident.
double CostUs(const DeviceKind& kind, const OpWork& work);

}  // namespace emplace
