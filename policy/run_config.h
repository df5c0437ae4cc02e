// The configuration of a training run: nested structs with the defaults, filled from YAML. A misspelt key is an error.
// The field tables in run_config.cc give each key's meaning, unit and range; RunConfigHelp prints them, and the
// resolved file (config.yaml in a run directory) repeats the meaning beside each value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy_config.h"
#include "simulator/environment/environment_config.h"

namespace emplace {

struct WorkloadConfig {
  std::string family = "ptb";
  int64_t count = 32;
  int64_t train = 20;
  int64_t validation = 4;
  uint64_t seed = 1;
  std::string size = "full";
  std::string dtype = "f32";
  bool calls = false;
  std::vector<std::string> ranges;
  std::vector<std::string> train_graphs;
  std::vector<std::string> validation_graphs;
  std::vector<std::string> test_graphs;
  std::string devices = "clusters/k80x2.yaml";
};

struct GroupingConfig {
  int64_t max_groups = 128;
};

// How actors and learner go together.
enum class Sync {
  kAsync,     // Actors go on while the learner computes.
  kLockstep,  // Each update uses only episodes of its own version, so that a seed gives the same policy bit for bit.
};
// What an update minimizes: policy_gradient.h in learner/update/objective.
enum class TrainingObjective { kReinforce, kPpo };
// What an episode's returns are compared with: recent episodes on the graph, or those of the batch with the same start.
enum class BaselineKind { kGraph, kBatch };
// What advantages are divided by: nothing, their spread over the batch, or the size of their graph's recent ones.
enum class AdvantageUnit { kNone, kBatch, kGraph };
// What entropy_start and entropy_end are: weights of the bonus, or shares of the largest entropy to steer to.
enum class EntropyGoal { kWeight, kTarget };
// Where the learner computes; kAuto: on a GPU if there is one.
enum class LearnerDevice { kAuto, kCpu, kCuda };

struct TrainingConfig {
  Sync sync = Sync::kAsync;
  bool lockstep() const { return sync == Sync::kLockstep; }
  int64_t iterations = 1000;
  double max_minutes = 0;
  TrainingObjective objective = TrainingObjective::kReinforce;
  int64_t episodes_per_update = 16;
  int64_t max_states_per_update = 512;
  double discount = 1;
  BaselineKind baseline = BaselineKind::kGraph;
  int64_t baseline_window = 20;
  int64_t epochs = 1;
  AdvantageUnit normalize_advantages = AdvantageUnit::kBatch;
  int64_t imitated_episodes = 0;
  double imitation_weight = 1;
  EntropyGoal entropy = EntropyGoal::kWeight;
  double entropy_start = 0.05;
  double entropy_end = 0.001;
  int64_t entropy_decay_updates = 150;
  double logits_noise = 0;
  int64_t logits_noise_decay_updates = 750;
  double learning_rate = 1e-3;
  double learning_rate_end = 1e-4;
  int64_t learning_rate_decay_updates = 1000;
  double gradient_clip = 1.25;
  int64_t max_lag = 8;
  double importance_clip = 2.0;
  double proximal_clip = 0.2;
  int64_t ranks = 1;
  int64_t shards = 1;  // In a file that does not give it: as many as ranks.
  LearnerDevice device = LearnerDevice::kAuto;
};

struct ActorConfig {
  int64_t episodes_in_flight = 4;
  int64_t send_queue = 8;
  double heartbeat_s = 1.0;
  double patience_s = 3600;
};

struct LearnerConfig {
  int64_t buffer = 16;
  int64_t check_threads = 1;
  double actor_timeout_s = 10;
  double progress_s = 2;
  double watchdog_s = 300;
};

// What stands for the timed steps of a placement: their median, or the mean of those within Tukey's fences.
enum class StepCenter { kMedian, kTukey };

// How hardware actors measure, and how the learner checks what they say.
struct HardwareConfig {
  int64_t warmup = 1;
  int64_t steps = 6;
  StepCenter outliers = StepCenter::kMedian;
  double window_s = 0.5;
  double share = 0.5;
  double timeout_s = 30;
  double penalty = 10;
  double recheck = 0.1;
  double tolerance = 1.5;
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
  int64_t keep = 3;
};

struct NetworkConfig {
  std::string bind = "127.0.0.1";
  std::string advertise;
  int64_t port = 0;
  std::string keys;
};

struct RunConfig {
  std::string name = "run";
  uint64_t seed = 1;
  WorkloadConfig workload;
  GroupingConfig grouping;
  EnvironmentConfig environment;
  PolicyConfig policy;
  TrainingConfig training;
  ActorConfig actor;
  LearnerConfig learner;
  HardwareConfig hardware;
  EvaluationConfig evaluation;
  CheckpointConfig checkpoint;
  NetworkConfig network;
};

// Reads a configuration file, then applies `overrides`: texts "section.key=value", as --set gives them. Relative paths
// in either start at the file's folder. Throws BadInput "path:line:col: key is value, expected ...".
RunConfig LoadRunConfig(const std::filesystem::path& path, const std::vector<std::string>& overrides = {});
// Does the same for a text. `source` names it in errors; relative paths start at `base_folder`.
RunConfig ParseRunConfig(std::string_view yaml, const std::string& source, const std::filesystem::path& base_folder,
                         const std::vector<std::string>& overrides = {});
// The whole configuration as YAML, defaults included, with the help of each key as a comment. It reads back equal.
std::string RunConfigToYaml(const RunConfig& config);
// One line for each key: name, default, range and help.
std::string RunConfigHelp();

}  // namespace emplace
