// Section `evolution` of a run's configuration: how training.objective evolution tries policies out.
#pragma once

#include <cstdint>

#include "common/config/field_table.h"

namespace emplace {

// How the distribution moves after a generation.
enum class EvolutionAlgorithm : uint8_t { kCma, kOpenAi };

struct EvolutionConfig {
  EvolutionAlgorithm algorithm = EvolutionAlgorithm::kCma;
  double learning_rate = 0.3;
  double spread_decay = 1;
  double average_power = 0;
  int64_t population = 16;
  int64_t least_budget = 1;
  int64_t most_budget = 1;
  double score_clip = 0.5;
  double penalty = 0;
  double initial_share = 1;
  double initial_spread = 1;
  double checked = 0.02;
  int64_t evaluation_budget = 1;
  int64_t validation_instances = 100;
  int64_t test_instances = 100;

  // Whether candidates come in pairs on opposite sides of the mean.
  bool mirrored() const { return algorithm == EvolutionAlgorithm::kOpenAi; }
};

FieldTable<EvolutionConfig> EvolutionFields();

}  // namespace emplace
