// Random graphs whose runs are long enough for snapshots, for tests of what a run reuses from the run before.
#pragma once

#include <cstdint>

#include "tests/support/link_rules.h"
#include "tests/support/random_graph.h"

namespace emplace {

// Differ with the seed; a fifth of the graphs are short, and half have parameters.
inline RandomGraphOptions LongRunOptions(uint64_t seed, const LinkRules& links) {
  return {.max_ops = seed % 5 == 0 ? 60 : 500,
          .max_devices = seed % 7 == 0 ? 8 : 4,
          .edge_density = seed % 3 == 0 ? 3.0 : 1.5,
          .parameters = seed % 2 == 0 ? 40 : 0,
          .link_model = links.model,
          .blocking = links.blocking};
}

}  // namespace emplace
