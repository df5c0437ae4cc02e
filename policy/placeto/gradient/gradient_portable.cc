#include "policy/simd/vec_portable.h"

namespace emplace {
namespace {

using Vec = VecPortable;

}  // namespace
}  // namespace emplace

#include "policy/placeto/gradient/gradient_impl.h"

namespace emplace {

GradientPath GradientPathPortable() { return {Vec::kLanes, &ForwardTile, &BackwardTile}; }

}  // namespace emplace
