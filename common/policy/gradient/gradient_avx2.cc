#include "common/policy/simd/vec_avx2.h"

namespace emplace {
namespace {

using Vec = VecAvx2;

}  // namespace
}  // namespace emplace

#include "common/policy/gradient/gradient_impl.h"

namespace emplace {

GradientPath GradientPathAvx2() { return {Vec::kLanes, &ForwardTile, &BackwardTile}; }

}  // namespace emplace
