// Networks small enough to be computed op by op.
#pragma once

#include "simulator/families/workloads/transformer_xl.h"

namespace emplace {

inline constexpr TransformerXlModel kSmallTransformerXl = {.layers = 2,
                                                           .width = 8,
                                                           .heads = 2,
                                                           .head_width = 3,
                                                           .inner = 10,
                                                           .batch = 2,
                                                           .segment = 5,
                                                           .memory = 4,
                                                           .vocabulary = 11};

}  // namespace emplace
