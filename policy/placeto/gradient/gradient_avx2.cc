#include "policy/simd/vec_avx2.h"

namespace emplace {
namespace {

using Vec = VecAvx2;

}  // namespace
}  // namespace emplace

#include "policy/placeto/gradient/gradient_impl.h"

namespace emplace {

GradientPath GradientPathAvx2() { return {Vec::kLanes, &ForwardTile, &BackwardTile}; }

}  // namespace emplace
