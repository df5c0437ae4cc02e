// `Vec` for x86-64 with AVX2 and FMA. Included by files that are compiled with -mavx2 -mfma, nowhere else.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace emplace {
namespace {

struct Vec {
  static constexpr int32_t kLanes = 8;
  static constexpr int kRegisters = 16;
  __m256 value;

  static Vec Load(const float* from) { return Vec{_mm256_loadu_ps(from)}; }
  void Store(float* to) const { _mm256_storeu_ps(to, value); }
  static Vec Zero() { return Vec{_mm256_setzero_ps()}; }
  static Vec Broadcast(const float* from) { return Vec{_mm256_broadcast_ss(from)}; }
  static Vec Add(Vec a, Vec b) { return Vec{_mm256_add_ps(a.value, b.value)}; }
  static Vec MultiplyAdd(Vec a, Vec b, Vec c) { return Vec{_mm256_fmadd_ps(a.value, b.value, c.value)}; }
  static Vec Relu(Vec a) { return Vec{_mm256_max_ps(a.value, _mm256_setzero_ps())}; }
  static Vec WherePositive(Vec by, Vec value) {
    return Vec{_mm256_and_ps(_mm256_cmp_ps(by.value, _mm256_setzero_ps(), _CMP_GT_OQ), value.value)};
  }
};

}  // namespace
}  // namespace emplace
