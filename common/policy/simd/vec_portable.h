// `Vec` for any processor: GCC's generic vectors, which become whatever 4-wide instructions the target has.
#pragma once

#include <cstdint>
#include <cstring>

namespace emplace {
namespace {

struct Vec {
  static constexpr int32_t kLanes = 8;
  static constexpr int kRegisters = 16;  // That a loop can count on.
  // Two halves: a 32-byte vector type would have another calling convention with AVX than without.
  using Half = float __attribute__((vector_size(16)));
  Half low;
  Half high;

  static Vec Load(const float* from) {
    Vec vec;
    std::memcpy(&vec.low, from, sizeof(Half));
    std::memcpy(&vec.high, from + 4, sizeof(Half));
    return vec;
  }
  void Store(float* to) const {
    std::memcpy(to, &low, sizeof(Half));
    std::memcpy(to + 4, &high, sizeof(Half));
  }
  static Vec Zero() { return Vec{Half{}, Half{}}; }
  static Vec Broadcast(const float* value) {
    const Half half = {*value, *value, *value, *value};
    return Vec{half, half};
  }
  static Vec Add(Vec a, Vec b) { return Vec{a.low + b.low, a.high + b.high}; }
  static Vec MultiplyAdd(Vec a, Vec b, Vec c) { return Vec{a.low * b.low + c.low, a.high * b.high + c.high}; }
  static Vec Relu(Vec a) { return WherePositive(a, a); }
  // Lanes of `value` where `by` is above 0, else 0.
  static Vec WherePositive(Vec by, Vec value) {
    const Half zero = {};
    return Vec{by.low > zero ? value.low : zero, by.high > zero ? value.high : zero};
  }
};

}  // namespace
}  // namespace emplace
