// The checkpoints of a run in RUN_DIR/checkpoints. Each is a folder that is written under another name, fsynced and
// renamed. The last K are kept, and so is the policy that is best on the validation graphs, in
// RUN_DIR/checkpoints/best/policy.safetensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "learner/storage/checkpoint.h"
#include "policy/policy_weights.h"

namespace emplace {

// For one thread at a time.
class CheckpointStore {
 public:
  CheckpointStore(std::filesystem::path folder, int64_t keep);
  const std::filesystem::path& folder() const { return folder_; }
  // Writes the folder update_<n> and removes all checkpoints but the last `keep`. Throws RunFailed.
  void Write(const Checkpoint& checkpoint) const;
  void WriteBest(const PolicyWeights& policy) const;
  // nullopt: there is no best policy yet, or it is damaged, which is logged.
  std::optional<PolicyWeights> LoadBest() const;
  // The newest checkpoint that is not damaged; each damaged one is logged. nullopt: there is no checkpoint. Throws
  // BadInput when all are damaged, or when one has another format version.
  std::optional<Checkpoint> LoadNewest() const;

 private:
  std::filesystem::path folder_;
  int64_t keep_;
};

// Throws BadInput that names the file.
Checkpoint LoadCheckpoint(const std::filesystem::path& folder);

}  // namespace emplace
