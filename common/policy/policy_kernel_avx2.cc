// The kernel for x86-64 with AVX2 and FMA; this file alone is compiled with -mavx2 -mfma.
#include <immintrin.h>

#include "common/policy/policy_kernel_plan.h"

namespace emplace {
namespace {

struct Vec {
  __m256 value;

  static Vec Load(const float* from) { return Vec{_mm256_loadu_ps(from)}; }
  void Store(float* to) const { _mm256_storeu_ps(to, value); }
  static Vec Zero() { return Vec{_mm256_setzero_ps()}; }
  static Vec Broadcast(const float* from) { return Vec{_mm256_broadcast_ss(from)}; }
  static Vec Add(Vec a, Vec b) { return Vec{_mm256_add_ps(a.value, b.value)}; }
  static Vec MultiplyAdd(Vec a, Vec b, Vec c) { return Vec{_mm256_fmadd_ps(a.value, b.value, c.value)}; }
  static Vec Relu(Vec a) { return Vec{_mm256_max_ps(a.value, _mm256_setzero_ps())}; }
};

}  // namespace
}  // namespace emplace

#include "common/policy/policy_kernel_impl.h"

namespace emplace {

void ForwardAvx2(const PackedPolicy& policy, const StateView& state, const KernelScratch& scratch) {
  ForwardState(policy, state, scratch);
  _mm256_zeroupper();  // Our caller is SSE code.
}

}  // namespace emplace
