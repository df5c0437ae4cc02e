// A training run, from its configuration to policy.safetensors: builds the parts, starts their threads, prints the
// progress, and ends them. The training itself happens in the pipeline (pipeline.h).
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

namespace emplace {

struct LearnerOptions {
  std::filesystem::path config;
  std::filesystem::path run_dir;
  bool resume = false;                 // Go on from the newest checkpoint in run_dir, with the configuration there.
  std::vector<std::string> overrides;  // "section.key=value"
  bool await_ranks = false;            // Somebody else starts ranks 1 and up (training.ranks).
};

// Trains until the run is over by its configuration or `interrupted` is set. In both cases it leaves a checkpoint, the
// policy and the ledger in the run directory. Throws BadInput for mistakes of the user, and RunFailed for other errors.
void RunLearner(const LearnerOptions& options, const std::atomic<bool>& interrupted);

}  // namespace emplace
