// The folder of a run: it is locked for one learner at a time, and its files have fixed names.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "common/files/file_descriptor.h"

namespace emplace {

class RunDirectory {
 public:
  // Makes the folder, and logs/ in it, locks it for as long as this object lives, and removes files that a killed
  // learner left half-written, and its learner.json. Waits for at most `patience` for another learner that still works
  // there, since one that was told to stop needs a while, unless that has begun a run which is not to be resumed.
  // Throws BadInput when `resume` is false and the folder holds a run, when `resume` is true and it holds none, when
  // the folder cannot be made, or when another learner keeps it until `patience` is over or `interrupted` is set.
  RunDirectory(std::filesystem::path folder, bool resume, std::chrono::milliseconds patience,
               const std::atomic<bool>& interrupted);
  ~RunDirectory();  // A folder that this learner has made goes if no run has begun in it.
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  // The resolved configuration. The folder holds a run exactly when this file exists.
  std::filesystem::path config() const { return folder_ / "config.yaml"; }
  std::filesystem::path checkpoints() const { return folder_ / "checkpoints"; }
  std::filesystem::path graphs() const { return folder_ / "graphs"; }
  // The best placements found, and a line for each time that one was found: see placement_files.h.
  std::filesystem::path placements() const { return folder_ / "placements"; }
  std::filesystem::path placement_lines() const { return folder_ / "placements.jsonl"; }
  std::filesystem::path log() const { return folder_ / "logs" / "learner.log"; }
  std::filesystem::path ledger() const { return folder_ / "ledger.json"; }
  std::filesystem::path policy() const { return folder_ / "policy.safetensors"; }
  std::filesystem::path summary() const { return folder_ / "summary.json"; }

  // Keys of the ranks other than 0: the newest learner's, and of no use without it.
  std::filesystem::path rank_keys() const { return folder_ / "ranks.keys"; }

  // Writes learner.json, {"address", "pid", "session"}, for which the launcher waits; and with "ranks_address" where
  // the launcher is to start ranks, which reach rank 0 there.
  void WriteLearnerFile(const std::string& address, uint64_t session, const std::string& ranks_address = "") const;

 private:
  std::filesystem::path learner_file() const { return folder_ / "learner.json"; }
  bool HoldsRun() const;
  void CheckHoldsNoRun() const;
  void Lock(bool resume, std::chrono::milliseconds patience, const std::atomic<bool>& interrupted);

  const std::filesystem::path folder_;
  bool made_ = false;
  FileDescriptor lock_;  // The kernel releases the lock however the process ends.
};

}  // namespace emplace
