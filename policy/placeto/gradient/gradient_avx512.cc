#include "policy/simd/vec_avx512.h"

namespace emplace {
namespace {

using Vec = VecAvx512;

}  // namespace
}  // namespace emplace

#include "policy/placeto/gradient/gradient_impl.h"

namespace emplace {

GradientPath GradientPathAvx512() { return {Vec::kLanes, &ForwardTile, &BackwardTile}; }

}  // namespace emplace
