#include "simulator/families/program/cost_model.h"

#include <algorithm>
#include <cmath>

namespace emplace {

OpWork WorkOf(const OpCall& call) {
  const OpRule& rule = RuleOf(call.node.type);
  const bool half =
      call.node.output >= 0 ? call.output().type == ElementType::kFloat16 : call.input(0).type == ElementType::kFloat16;
  return {ClassOf(call), half ? ElementType::kFloat16 : ElementType::kFloat32, rule.flops(call), rule.bytes(call)};
}

double CostUs(const DeviceKind& kind, const OpWork& work) {
  if (work.op_class == OpClass::kResident) return 0;
  const ClassEfficiency& attained = kind.efficiency[static_cast<size_t>(work.op_class)];
  const double peak = work.type == ElementType::kFloat16 ? kind.peak_gflops_f16 : kind.peak_gflops_f32;
  // f / r(f) with r(f) = compute * peak * f / (f + half).
  const double ramped = work.flops > 0 ? work.flops + attained.half_rate_mflop * 1e6 : 0;
  const double compute_us = ramped / (peak * 1e3 * attained.compute);
  const double memory_us = static_cast<double>(work.bytes) / (kind.memory_gb_per_s * 1e3 * attained.memory);
  const auto [shorter_us, longer_us] = std::minmax(compute_us, memory_us);
  return std::round((longer_us + attained.exposed * shorter_us + kind.launch_us) * 1e3) / 1e3;
}

}  // namespace emplace
