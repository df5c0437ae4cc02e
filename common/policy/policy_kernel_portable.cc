// The kernel for any processor: GCC's generic vectors, which become whatever 4-wide instructions the target has.
#include <cstring>

#include "common/policy/policy_kernel_plan.h"

namespace emplace {
namespace {

struct Vec {
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
  static Vec Relu(Vec a) {
    const Half zero = {};
    return Vec{a.low > zero ? a.low : zero, a.high > zero ? a.high : zero};
  }
};

}  // namespace
}  // namespace emplace

#include "common/policy/policy_kernel_impl.h"

namespace emplace {

void ForwardPortable(const PackedPolicy& policy, const StateView& state, const KernelScratch& scratch) {
  ForwardState(policy, state, scratch);
}

}  // namespace emplace
