#include "policy/simd/vec_avx2.h"

namespace emplace {
namespace {

using Vec = VecAvx2;
using NarrowVec = VecAvx2;  // Of rows that are no multiple of a whole register.

}  // namespace
}  // namespace emplace

#include "policy/placeto/kernel/kernel_impl.h"

namespace emplace {

KernelFunctions KernelFunctionsAvx2() { return {&Pooled, &Classify}; }

}  // namespace emplace
