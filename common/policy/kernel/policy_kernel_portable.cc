#include "common/policy/simd/vec_portable.h"

#include "common/policy/kernel/policy_kernel_impl.h"

namespace emplace {

void ForwardPortable(const PackedPolicy& policy, const StateView& state, const KernelScratch& scratch) {
  ForwardState(policy, state, scratch);
}

}  // namespace emplace
