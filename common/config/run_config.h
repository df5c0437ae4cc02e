// The configuration of a training run: nested structs with defaults, filled from YAML by one field table
// (run_config.cc) that also gives ranges, help and the resolved file. A misspelt key is an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

struct WorkloadConfig {
  std::string family = "ptb";  // A generated family; empty: `train_graphs` and `test_graphs` name files.
  int64_t count = 32;          // Graphs of the family.
  int64_t train = 20;          // The first of the fixed-seed split; the rest is test.
  int64_t validation = 4;      // Further graphs, from a stream of their own; the best checkpoint is chosen on them.
  uint64_t seed = 1;
  std::string size = "full";                   // "full" or "small" (for smoke runs).
  std::string dtype = "f32";                   // "f32" or "f16"
  std::vector<std::string> ranges;             // What differs in the family: "steps=10..20"
  std::vector<std::string> train_graphs;       // Paths; relative ones start at the configuration's folder.
  std::vector<std::string> validation_graphs;  // Empty: the training graphs serve.
  std::vector<std::string> test_graphs;
  std::string devices = "clusters/k80x2.yaml";  // Devices file; a relative one starts at the configuration's folder.
};

struct GroupingConfig {
  int64_t max_groups = 128;
};

struct EnvironmentConfig {
  std::string start = "random";    // "random", "single" (best single device) or "best" (best placement seen)
  std::string reward = "log";      // rho: "seconds" or "log" of the makespan
  double memory_penalty = 10;      // c: added to rho for each GB over the limit
  double memory_penalty_cap = 10;  // At most this much.
};

struct PolicyConfig {
  int64_t message_rounds = 8;
  int64_t message_width = 0;  // 0: the number of features
  bool memory_feature = false;
  bool pooling = true;      // Over ancestors, descendants and neither; false is an ablation.
  double output_scale = 1;  // Of the initial network's last layer, and so of its logits.
  std::string initial;      // A policy.safetensors to start from; empty: a new network
};

struct TrainingConfig {
  std::string sync = "async";  // "async", or "lockstep": the same policy for a seed, whoever plays the episodes
  bool lockstep() const { return sync == "lockstep"; }
  int64_t iterations = 1000;                   // Updates.
  double max_minutes = 0;                      // Stops after this wall time; 0: no limit.
  int64_t episodes_per_update = 16;            // B
  int64_t max_states_per_update = 512;         // Steps drawn from a batch of episodes for one update; 0: all
  double discount = 1;                         // Of rewards, a step.
  int64_t baseline_window = 20;                // Recent episodes in each (graph, step) baseline.
  int64_t epochs = 1;                          // Optimizer steps on the same batch.
  std::string normalize_advantages = "batch";  // "none", "batch" or "graph"
  int64_t imitated_episodes = 0;               // Best episodes so far, in each update beside its batch.
  double imitation_weight = 1;                 // The advantage of their steps.
  std::string entropy =
      "weight";  // What entropy_start and entropy_end are: "weight" of the bonus, or "target" of the entropy
  double entropy_start = 0.05;
  double entropy_end = 0.001;
  int64_t entropy_decay_updates = 150;
  double learning_rate = 1e-3;
  double learning_rate_end = 1e-4;
  int64_t learning_rate_decay_updates = 1000;
  double gradient_clip = 1.25;   // Global norm.
  int64_t max_lag = 8;           // Versions; an older trajectory is dropped as stale.
  double importance_clip = 2.0;  // Largest importance weight of a lagging step.
  std::string device = "auto";   // "auto", "cpu" or "cuda"
};

struct ActorConfig {
  int64_t episodes_in_flight = 4;  // Episodes that one actor process rolls out together.
  int64_t send_queue = 8;          // Trajectories; a full queue pauses the actor.
  double heartbeat_s = 1.0;
  double patience_s = 3600;  // How long an actor waits for a learner that does not answer.
};

struct LearnerConfig {
  int64_t buffer = 16;          // Trajectories; a full one pushes back. Small: what waits grows old.
  int64_t check_threads = 1;    // That simulate what actors claim.
  double actor_timeout_s = 10;  // An actor silent for longer is counted as gone.
  double progress_s = 2;        // Between progress lines.
  double watchdog_s = 300;      // A stage that is silent for longer hangs, and the run fails; 0: nobody watches.
};

struct EvaluationConfig {
  int64_t every = 50;      // Updates between greedy evaluations of validation and test graphs; 0: only at the end
  int64_t patience = 10;   // Training stops when so many evaluations are no better than as many before; 0: never
  double min_gain = 0.01;  // Better by less than this share of the ratio.
};

struct CheckpointConfig {
  int64_t every = 50;  // Updates.
  int64_t keep = 3;    // The last K; the best one is kept besides.
};

struct NetworkConfig {
  std::string bind = "127.0.0.1";  // IPv4; 0.0.0.0: all addresses of the learner's machine
  std::string advertise;           // Host that actors are told; empty: `bind`, or the machine's name for 0.0.0.0
  int64_t port = 0;  // Control; the next two serve as well. 0: any free ones; written to RUN_DIR/learner.json
  std::string keys;  // The learner's, as emplace keygen makes them; empty: unencrypted, on loopback alone
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
  EvaluationConfig evaluation;
  CheckpointConfig checkpoint;
  NetworkConfig network;
};

// Throws BadInput "path:line:col: key is value, expected ...".
RunConfig LoadRunConfig(const std::filesystem::path& path, const std::vector<std::string>& overrides = {});
// `overrides`: "section.key=value", as --set gives them. Relative paths are resolved against `base_folder`.
RunConfig ParseRunConfig(std::string_view yaml, const std::string& source, const std::filesystem::path& base_folder,
                         const std::vector<std::string>& overrides = {});
// The resolved configuration; reads back equal.
std::string RunConfigToYaml(const RunConfig& config);
// One line a key: name, default, range, help.
std::string RunConfigHelp();

}  // namespace emplace
