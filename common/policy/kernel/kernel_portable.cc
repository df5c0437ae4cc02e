#include "common/policy/simd/vec_portable.h"

namespace emplace {
namespace {

using Vec = VecPortable;
using NarrowVec = VecPortable;  // Of rows that are no multiple of a whole register.

}  // namespace
}  // namespace emplace

#include "common/policy/kernel/kernel_impl.h"

namespace emplace {

KernelFunctions KernelFunctionsPortable() { return {&Pooled, &Classify}; }

}  // namespace emplace
