// Section `evolution` of a run's configuration: how training.objective evolution tries policies out.
#pragma once

#include <cstdint>

#include "common/config/field_table.h"

namespace emplace {

struct EvolutionConfig {
  int64_t population = 16;
  int64_t least_budget = 1;
  int64_t most_budget = 1;
  double score_clip = 0.5;
  double initial_spread = 1;
  double checked = 0.02;
  int64_t evaluation_budget = 1;
  int64_t validation_instances = 100;
  int64_t test_instances = 100;
};

FieldTable<EvolutionConfig> EvolutionFields();

}  // namespace emplace
