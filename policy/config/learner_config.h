// Sections `learner`, `evaluation`, `checkpoint` and `network` of a run's configuration: the learner's process.
#pragma once

#include <cstdint>
#include <string>

#include "common/config/field_table.h"

namespace emplace {

struct LearnerConfig {
  int64_t buffer = 16;
  int64_t check_threads = 1;
  double actor_timeout_s = 10;
  double progress_s = 2;
  double watchdog_s = 300;
};

// Which policy a run ends with.
enum class FinalPolicy { kBest, kLast };

struct EvaluationConfig {
  int64_t every = 50;
  FinalPolicy final_policy = FinalPolicy::kBest;
  int64_t patience = 10;
  double min_gain = 0.01;
};

struct CheckpointConfig {
  int64_t every = 50;
  double seconds = 60;
  int64_t keep = 3;
};

struct NetworkConfig {
  std::string bind = "127.0.0.1";
  std::string advertise;
  int64_t port = 0;
  std::string keys;
};

FieldTable<LearnerConfig> LearnerFields();
FieldTable<EvaluationConfig> EvaluationFields();
FieldTable<CheckpointConfig> CheckpointFields();
FieldTable<NetworkConfig> NetworkFields();

}  // namespace emplace
