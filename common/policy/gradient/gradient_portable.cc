#include "common/policy/simd/vec_portable.h"

#include "common/policy/gradient/gradient_impl.h"

namespace emplace {

GradientPath GradientPathPortable() { return {Vec::kLanes, &ForwardTile, &BackwardTile}; }

}  // namespace emplace
