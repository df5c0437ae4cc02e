// The configuration of a training run: nested structs with the defaults, filled from YAML. A misspelt key is an error.
// The field tables of the sections give each key's meaning, unit and range; RunConfigHelp prints them, and the
// resolved file (config.yaml in a run directory) repeats the meaning beside each value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "policy/config/actor_config.h"
#include "policy/config/evolution_config.h"
#include "policy/config/learner_config.h"
#include "policy/config/policy_config.h"
#include "policy/config/training_config.h"
#include "policy/config/workload_config.h"
#include "simulator/environment/environment_config.h"
#include "simulator/instances/instance_config.h"

namespace emplace {

struct RunConfig {
  std::string name = "run";
  uint64_t seed = 1;
  WorkloadConfig workload;
  GroupingConfig grouping;
  EnvironmentConfig environment;
  PolicyConfig policy;
  TrainingConfig training;
  EvolutionConfig evolution;
  InstanceConfig instances;
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
