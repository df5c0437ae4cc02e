#include "common/policy/simd/vec_portable.h"

namespace emplace {
namespace {

using Vec = VecPortable;

}  // namespace
}  // namespace emplace

#include "common/policy/gradient/gradient_impl.h"

namespace emplace {

GradientPath GradientPathPortable() { return {Vec::kLanes, &ForwardTile, &BackwardTile}; }

}  // namespace emplace
