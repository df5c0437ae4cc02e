// A training run, from its configuration to policy.safetensors: builds the parts, starts their threads, says how it
// goes, and ends them. What happens in between is the pipeline's (pipeline.h).
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

namespace emplace {

struct LearnerOptions {
  std::filesystem::path config;
  std::filesystem::path run_dir;
  bool resume = false;                 // Go on from the run directory's last checkpoint.
  std::vector<std::string> overrides;  // "section.key=value"
};

// Trains until the configuration's end or `interrupted`; either way ends with a checkpoint, the policy and the ledger
// in the run directory. Throws BadInput for what the user can mend, RunFailed for the rest.
void RunLearner(const LearnerOptions& options, const std::atomic<bool>& interrupted);

}  // namespace emplace
