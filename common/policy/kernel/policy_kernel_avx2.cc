#include "common/policy/simd/vec_avx2.h"

#include "common/policy/kernel/policy_kernel_impl.h"

namespace emplace {

void ForwardAvx2(const PackedPolicy& policy, const StateView& state, const KernelScratch& scratch) {
  ForwardState(policy, state, scratch);
  _mm256_zeroupper();  // Our caller is SSE code.
}

}  // namespace emplace
