#include "common/threads/subnormals.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace emplace {
namespace {

#if defined(__x86_64__)
constexpr uint64_t kAsZero = 0x8040;  // In MXCSR: flush-to-zero for results, denormals-are-zeros for operands.
uint64_t FloatControl() { return _mm_getcsr(); }
void SetFloatControl(uint64_t control) { _mm_setcsr(static_cast<unsigned>(control)); }
#elif defined(__aarch64__)
constexpr uint64_t kAsZero = uint64_t{1} << 24;  // In FPCR: flush-to-zero for both.
uint64_t FloatControl() {
  uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return control;
}
void SetFloatControl(uint64_t control) { asm volatile("msr fpcr, %0" : : "r"(control)); }
#else
constexpr uint64_t kAsZero = 0;
uint64_t FloatControl() { return 0; }
void SetFloatControl(uint64_t) {}
#endif

}  // namespace

SubnormalsAsZero::SubnormalsAsZero() : before_(FloatControl()) { SetFloatControl(before_ | kAsZero); }
SubnormalsAsZero::~SubnormalsAsZero() { SetFloatControl(before_); }

}  // namespace emplace
