// The policy of a run directory, also while its run goes on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "policy/policy_weights.h"

namespace emplace {

struct RunPolicy {
  std::string file;   // In the run directory.
  std::string bytes;  // Of the file.
  PolicyWeights weights;
};

// The best policy so far by its ratio on the validation graphs, or the newest where none has been validated; nullopt
// before the first checkpoint. Throws BadInput for a damaged one.
std::optional<RunPolicy> BestPolicyIfAny(const std::filesystem::path& run);
// The same. Throws BadInput for a folder that is no run directory, and where there is no policy yet.
RunPolicy BestPolicy(const std::filesystem::path& run);

}  // namespace emplace
