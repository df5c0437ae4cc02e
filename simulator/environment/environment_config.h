// Section `environment` of a run's configuration: where episodes start, and what is rewarded.
#pragma once

#include <cstdint>
#include <string>

#include "common/config/field_table.h"

namespace emplace {

// Where an episode starts from.
enum class Start {
  kRandom,  // A random placement.
  kSingle,  // All ops on the best single device.
  kBest,    // The best placement that the actor has seen.
};
std::string ToString(Start start);
// Throws BadInput, which names the texts that there are. `what` is what has this text, for the error.
Start StartFromText(const std::string& text, const std::string& what);

// Whose decrease is the reward: the makespan in seconds, its natural logarithm, or the square root of its
// seconds.
enum class RewardUnit { kSeconds, kLog, kSqrt };
// Throws BadInput as StartFromText does.
RewardUnit RewardFromText(const std::string& text, const std::string& what);

struct EnvironmentConfig {
  Start start = Start::kRandom;
  int64_t episodes_per_start = 1;
  RewardUnit reward = RewardUnit::kLog;
  double memory_penalty = 10;
  double memory_penalty_cap = 10;
};

FieldTable<EnvironmentConfig> EnvironmentFields();

}  // namespace emplace
