// `Vec` for x86-64 with AVX-512. Included by files that are compiled with -mavx512f -mavx512vl -mavx512dq, nowhere else.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace emplace {
namespace {

struct Vec {
  static constexpr int32_t kLanes = 16;
  static constexpr int kRegisters = 32;
  __m512 value;

  static Vec Load(const float* from) { return Vec{_mm512_loadu_ps(from)}; }
  void Store(float* to) const { _mm512_storeu_ps(to, value); }
  static Vec Zero() { return Vec{_mm512_setzero_ps()}; }
  static Vec Broadcast(const float* from) { return Vec{_mm512_set1_ps(*from)}; }
  static Vec Add(Vec a, Vec b) { return Vec{_mm512_add_ps(a.value, b.value)}; }
  static Vec MultiplyAdd(Vec a, Vec b, Vec c) { return Vec{_mm512_fmadd_ps(a.value, b.value, c.value)}; }
  static Vec Relu(Vec a) { return Vec{_mm512_max_ps(a.value, _mm512_setzero_ps())}; }
  static Vec WherePositive(Vec by, Vec value) {
    return Vec{_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(by.value, _mm512_setzero_ps(), _CMP_GT_OQ), value.value)};
  }
};

}  // namespace
}  // namespace emplace
