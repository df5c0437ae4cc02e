#include "api/run_policy.h"

#include <utility>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/format_version.h"
#include "common/strings.h"
#include "policy/checkpoint_folders.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

// A file is read once: a run that goes on may replace it at any time.
std::optional<RunPolicy> ReadPolicy(const fs::path& run, const fs::path& file) {
  if (!fs::exists(run / file)) return std::nullopt;
  std::string bytes = ReadFile(run / file);
  PolicyWeights weights = ParsePolicy(bytes, (run / file).string());
  return RunPolicy{file.string(), std::move(bytes), std::move(weights)};
}

// nullopt: there is none yet, before the first checkpoint.
std::optional<RunPolicy> ReadNewestCheckpoint(const fs::path& run) {
  for (const fs::path& checkpoint : CheckpointsNewestFirst(run / "checkpoints")) {
    if (!fs::exists(checkpoint / "state.json")) continue;  // Half copied.
    const fs::path folder = "checkpoints" / checkpoint.filename();
    try {
      if (auto found = ReadPolicy(run, folder / "policy.safetensors")) return found;
    } catch (const OtherVersion&) {
      throw;  // Not damaged, and not to be passed over for an older one.
    } catch (const Error&) {
      // Just removed as too old, or damaged: the one before will do, as it does for a learner that resumes.
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<RunPolicy> BestPolicyIfAny(const fs::path& run) {
  auto last = ReadPolicy(run, "policy.safetensors");  // Written at the end of a sitting.
  auto best = ReadPolicy(run, fs::path("checkpoints") / "best" / "policy.safetensors");
  // A resumed run has found a better one since.
  if (last && best && best->weights.version > last->weights.version) return best;
  if (last) return last;
  if (best) return best;
  return ReadNewestCheckpoint(run);
}

RunPolicy BestPolicy(const fs::path& run) {
  if (!fs::exists(run / "config.yaml"))
    throw BadInput(StrCat(run.string(), ": holds no run, expected a run directory"));
  auto policy = BestPolicyIfAny(run);
  if (!policy) throw BadInput(StrCat(run.string(), ": has no policy yet, expected one after its first checkpoint"));
  return *std::move(policy);
}

}  // namespace emplace
