#include "common/policy/simd/vec_avx512.h"

#include "common/policy/gradient/gradient_impl.h"

namespace emplace {

GradientPath GradientPathAvx512() { return {Vec::kLanes, &ForwardTile, &BackwardTile}; }

}  // namespace emplace
