// `policy`: a trained policy, greedy or the best of several sampled episodes.
#pragma once

#include "common/policy/kernel/policy_kernel.h"
#include "simulator/environment/policy_placer.h"
#include "simulator/methods/placement_method.h"

namespace emplace {

class PolicyMethod : public PlacementMethod {
 public:
  explicit PolicyMethod(const MethodOptions& options);  // Throws BadInput without a policy.
  bool draws() const override { return true; }          // The start placement is drawn, if nothing else.
  // Throws BadInput when the policy is for another number of devices than the task.
  MethodResult Place(const PlacementTask& task) override;

 private:
  PolicyKernel kernel_;
  PlacerOptions placer_;
};

}  // namespace emplace
