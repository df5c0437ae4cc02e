// What is played in a run that trains a policy by evolution (training.objective: evolution): trials. In a trial, one
// candidate of the generation, that is one draw of the policy, places one problem, and only what the placement is worth
// comes back. The trials of a version are numbered problem by problem, so that neighbours share the problem.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/ids.h"
#include "policy/config/run_config.h"

namespace emplace {

struct Trial {
  int64_t candidate = 0;  // Below evolution.population.
  uint64_t problem = 0;   // The GraphId of a training graph, or the number of an instance (simulator/instances).
  int64_t budget = 1;     // Placements that the planner may simulate.
};

// Trial `index` of the generation that is drawn from `version`, of a run with so many training graphs; 0: its problems
// are instances without end. All candidates meet the same problems. REQUIRES: index < training.episodes_per_update.
Trial TrialOf(const RunConfig& config, size_t graphs, PolicyVersion version, uint32_t index);

}  // namespace emplace
