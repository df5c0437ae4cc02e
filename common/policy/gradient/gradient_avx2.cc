#include "common/policy/simd/vec_avx2.h"

#include "common/policy/gradient/gradient_impl.h"

namespace emplace {

GradientPath GradientPathAvx2() { return {Vec::kLanes, &ForwardTile, &BackwardTile}; }

}  // namespace emplace
