// Floats in registers, for any processor: GCC's generic vectors, which become the target's instructions on four floats.
#pragma once

#include <cstdint>
#include <cstring>

namespace emplace {
namespace {

struct VecPortable {
  static constexpr int32_t kLanes = 8;
  static constexpr int kRegisters = 16;  // Registers that a loop can count on.
  // Two halves: a 32-byte vector type would have another calling convention with AVX than without.
  using Half = float __attribute__((vector_size(16)));
  Half low;
  Half high;

  static VecPortable Load(const float* from) {
    VecPortable vec;
    std::memcpy(&vec.low, from, sizeof(Half));
    std::memcpy(&vec.high, from + 4, sizeof(Half));
    return vec;
  }
  void Store(float* to) const {
    std::memcpy(to, &low, sizeof(Half));
    std::memcpy(to + 4, &high, sizeof(Half));
  }
  static VecPortable Zero() { return VecPortable{Half{}, Half{}}; }
  static VecPortable Broadcast(const float* value) {
    const Half half = {*value, *value, *value, *value};
    return VecPortable{half, half};
  }
  static VecPortable Add(VecPortable a, VecPortable b) { return VecPortable{a.low + b.low, a.high + b.high}; }
  static VecPortable MultiplyAdd(VecPortable a, VecPortable b, VecPortable c) {
    return VecPortable{a.low * b.low + c.low, a.high * b.high + c.high};
  }
  static VecPortable Relu(VecPortable a) { return WherePositive(a, a); }
  // Keeps the lanes of `value` where `by` is above 0; the others become 0.
  static VecPortable WherePositive(VecPortable by, VecPortable value) {
    const Half zero = {};
    return VecPortable{by.low > zero ? value.low : zero, by.high > zero ? value.high : zero};
  }
};

}  // namespace
}  // namespace emplace
