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
        .Help("Number of episodes that are sampled beside the greedy one; the best placement is kept");
    return table;
  }
};

}  // namespace emplace
