#include "learner/storage/checkpoint_store.h"

#include <fcntl.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/format_version.h"
#include "common/log.h"
#include "common/strings.h"
#include "policy/checkpoint_folders.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

constexpr char kTemporary[] = ".tmp";
constexpr char kSetAside[] = ".old";

void RemoveOrWarn(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) LogWarning(StrCat(path.string(), ": cannot be removed: ", error.message()));
}

// `target` with a name under which LoadNewest finds it again when the run is killed before another has taken its place.
fs::path AsideOf(const fs::path& target) {
  return target.parent_path() / StrCat(".", target.filename().string(), kSetAside);
}

// Of a folder that was set aside, the folder whose place it had; nullopt for any other.
std::optional<fs::path> PlaceOf(const fs::path& aside) {
  const std::string name = aside.filename().string();
  if (!name.starts_with(StrCat(".", kCheckpointPrefix)) || !name.ends_with(kSetAside)) return std::nullopt;
  return aside.parent_path() / name.substr(1, name.size() - 1 - std::string_view(kSetAside).size());
}

// Puts back what had been set aside for a folder that never came.
void RestoreSetAside(const fs::path& folder) {
  std::error_code ignored;  // Who may only read the folder does without.
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::optional<fs::path> place = PlaceOf(entry.path());
    if (place && !fs::exists(*place)) fs::rename(entry.path(), *place, ignored);
  }
}

// Makes the complete folder `aside` the folder `target`. One that is there already was left by a run that was resumed
// from before it. The two change places in one step where the file system can; on others (NFS) the old one is set aside
// first.
void MoveIntoPlace(const fs::path& aside, const fs::path& target) {
  fs::path old = aside;  // What is no longer needed once the new one is on disk.
  if (!fs::exists(target)) {
    fs::rename(aside, target);
  } else if (::renameat2(AT_FDCWD, aside.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) != 0) {
    old = AsideOf(target);
    fs::remove_all(old);
    fs::rename(target, old);
    fs::rename(aside, target);
  }
  SyncFolder(target.parent_path());
  RemoveOrWarn(old);
}

// A complete folder under a name of its own, moved into place.
void WriteFolder(const fs::path& target, const fs::path& aside, const Checkpoint& checkpoint) {
  fs::create_directories(aside);
  const CheckpointFiles files = SerializeCheckpoint(checkpoint);
  WriteFileAtomically(aside / CheckpointFiles::kPolicy, files.policy);
  WriteFileAtomically(aside / CheckpointFiles::kOptimizer, files.optimizer);
  WriteFileAtomically(aside / CheckpointFiles::kState, files.state);
  MoveIntoPlace(aside, target);
}

// What a killed run left half-written, or set aside for a checkpoint that is there.
void RemoveTemporaries(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const std::optional<fs::path> place = PlaceOf(entry.path());
    const bool replaced = place && fs::exists(*place);
    const bool half_written = name.starts_with(StrCat(".", kCheckpointPrefix)) && name.ends_with(kTemporary);
    if (replaced || half_written) RemoveOrWarn(entry.path());
  }
}

}  // namespace

CheckpointStore::CheckpointStore(fs::path folder, int64_t keep) : folder_(std::move(folder)), keep_(keep) {}

void CheckpointStore::Write(const Checkpoint& checkpoint) const {
  try {
    fs::create_directories(folder_);
    RestoreSetAside(folder_);
    RemoveTemporaries(folder_);
    const std::string name = CheckpointName(checkpoint.updates);
    const fs::path aside = folder_ / StrCat(".", name, kTemporary);
    try {
      WriteFolder(folder_ / name, aside, checkpoint);
    } catch (...) {
      std::error_code ignored;  // The first error is the one to tell.
      fs::remove_all(aside, ignored);
      throw;
    }
    // Damaged ones that a resumed run has passed over may be newer than this one: they do not count among the kept.
    int64_t kept = 0;
    for (const fs::path& old : CheckpointsNewestFirst(folder_)) {
      if (UpdatesOfCheckpoint(old) <= checkpoint.updates && ++kept > keep_) RemoveOrWarn(old);
    }
  } catch (const fs::filesystem_error& error) {
    throw RunFailed(StrCat(folder_.string(), ": cannot write a checkpoint: ", error.code().message()));
  }
}

void CheckpointStore::WriteBest(const PolicyWeights& policy) const {
  std::error_code ignored;  // The write right after says what is wrong.
  fs::create_directories(folder_ / "best", ignored);
  WriteFileAtomically(folder_ / "best" / CheckpointFiles::kPolicy, SerializePolicy(policy));
}

std::optional<PolicyWeights> CheckpointStore::LoadBest() const {
  const fs::path path = folder_ / "best" / CheckpointFiles::kPolicy;
  if (!fs::exists(path)) return std::nullopt;
  try {
    return LoadPolicy(path);
  } catch (const OtherVersion&) {
    throw;
  } catch (const Error& error) {
    LogWarning(StrCat("the best policy is damaged, and the next that is evaluated takes its place: ", error.what()));
    return std::nullopt;
  }
}

std::optional<Checkpoint> CheckpointStore::LoadNewest() const {
  RestoreSetAside(folder_);
  const std::vector<fs::path> all = CheckpointsNewestFirst(folder_);
  for (const fs::path& folder : all) {
    try {
      return LoadCheckpoint(folder);
    } catch (const OtherVersion&) {
      throw;  // Not damaged: to go on from an older one would throw away what a newer Emplace has done.
    } catch (const Error& error) {
      LogWarning(StrCat("checkpoint is damaged, trying the one before: ", error.what()));
    }
  }
  if (!all.empty()) throw BadInput(StrCat(folder_.string(), ": every checkpoint in it is damaged"));
  return std::nullopt;
}

Checkpoint LoadCheckpoint(const fs::path& folder) {
  return ParseCheckpoint({ReadFile(folder / CheckpointFiles::kPolicy), ReadFile(folder / CheckpointFiles::kOptimizer),
                          ReadFile(folder / CheckpointFiles::kState)},
                         folder);
}

}  // namespace emplace
