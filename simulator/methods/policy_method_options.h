// Options of the method `policy`. They stand here, below the folder of policies, since the table of methods lists them.
#pragma once

#include <cstdint>

#include "common/config/field_table.h"

namespace emplace {

struct PolicyMethodOptions {
  int64_t samples = 0;

  static FieldTable<PolicyMethodOptions> Table() {
    FieldTable<PolicyMethodOptions> table;
    table.Field("samples", &PolicyMethodOptions::samples)
        .Range(0, 1e6)
        .Help(
            "Number of further placements to try beside the greedy one, of which the best is kept: sampled episodes, "
            "or passes of a planner with its complements and then with samples of its parameters");
    return table;
  }
};

}  // namespace emplace
