// Floats in a register, for x86-64 with AVX-512. Include this only in files that are compiled with -mavx512f
// -mavx512vl -mavx512dq.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace emplace {
namespace {

struct VecAvx512 {
  static constexpr int32_t kLanes = 16;
  static constexpr int kRegisters = 32;
  __m512 value;

  static VecAvx512 Load(const float* from) { return VecAvx512{_mm512_loadu_ps(from)}; }
  void Store(float* to) const { _mm512_storeu_ps(to, value); }
  static VecAvx512 Zero() { return VecAvx512{_mm512_setzero_ps()}; }
  static VecAvx512 Broadcast(const float* from) { return VecAvx512{_mm512_set1_ps(*from)}; }
  static VecAvx512 Add(VecAvx512 a, VecAvx512 b) { return VecAvx512{_mm512_add_ps(a.value, b.value)}; }
  static VecAvx512 MultiplyAdd(VecAvx512 a, VecAvx512 b, VecAvx512 c) {
    return VecAvx512{_mm512_fmadd_ps(a.value, b.value, c.value)};
  }
  static VecAvx512 Relu(VecAvx512 a) { return VecAvx512{_mm512_max_ps(a.value, _mm512_setzero_ps())}; }
  static VecAvx512 WherePositive(VecAvx512 by, VecAvx512 value) {
    return VecAvx512{_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(by.value, _mm512_setzero_ps(), _CMP_GT_OQ), value.value)};
  }
};

}  // namespace
}  // namespace emplace
