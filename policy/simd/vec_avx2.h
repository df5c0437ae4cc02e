// Floats in a register, for x86-64 with AVX2 and FMA. Include this only in files that are compiled with -mavx2 -mfma.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace emplace {
namespace {

struct VecAvx2 {
  static constexpr int32_t kLanes = 8;
  static constexpr int kRegisters = 16;
  __m256 value;

  static VecAvx2 Load(const float* from) { return VecAvx2{_mm256_loadu_ps(from)}; }
  void Store(float* to) const { _mm256_storeu_ps(to, value); }
  static VecAvx2 Zero() { return VecAvx2{_mm256_setzero_ps()}; }
  static VecAvx2 Broadcast(const float* from) { return VecAvx2{_mm256_broadcast_ss(from)}; }
  static VecAvx2 Add(VecAvx2 a, VecAvx2 b) { return VecAvx2{_mm256_add_ps(a.value, b.value)}; }
  static VecAvx2 MultiplyAdd(VecAvx2 a, VecAvx2 b, VecAvx2 c) {
    return VecAvx2{_mm256_fmadd_ps(a.value, b.value, c.value)};
  }
  static VecAvx2 Relu(VecAvx2 a) { return VecAvx2{_mm256_max_ps(a.value, _mm256_setzero_ps())}; }
  static VecAvx2 WherePositive(VecAvx2 by, VecAvx2 value) {
    return VecAvx2{_mm256_and_ps(_mm256_cmp_ps(by.value, _mm256_setzero_ps(), _CMP_GT_OQ), value.value)};
  }
};

}  // namespace
}  // namespace emplace
