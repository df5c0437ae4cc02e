#include "policy/simd/vec_portable.h"

namespace emplace {
namespace {

using Vec = VecPortable;
using NarrowVec = VecPortable;  // Of rows that are no multiple of a whole register.

}  // namespace
}  // namespace emplace

#include "policy/placeto/kernel/kernel_impl.h"

namespace emplace {

KernelFunctions KernelFunctionsPortable() { return {&Pooled, &Classify}; }

}  // namespace emplace
