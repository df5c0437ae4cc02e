// The folder that a run lives in: who may begin there, and where its parts are.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

namespace emplace {

class RunDirectory {
 public:
  // Makes the folder, and logs/ in it, and locks it for as long as this object lives; what a killed learner left
  // half-written there goes. Throws BadInput when a new run
  // would meet one that is there already, when there is none to resume, when the folder cannot be made, or when another
  // learner still works there after `patience` (one that was told to stop needs a while) or until `interrupted`.
  RunDirectory(std::filesystem::path folder, bool resume, std::chrono::milliseconds patience,
               const std::atomic<bool>& interrupted);
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path config() const {
    return folder_ / "config.yaml";
  }  // Resolved; its presence means: a run is here.
  std::filesystem::path checkpoints() const { return folder_ / "checkpoints"; }
  std::filesystem::path graphs() const { return folder_ / "graphs"; }
  std::filesystem::path placements() const { return folder_ / "placements"; }  // The best found: see placement_files.h.
  std::filesystem::path placement_lines() const { return folder_ / "placements.jsonl"; }
  std::filesystem::path log() const { return folder_ / "logs" / "learner.log"; }
  std::filesystem::path ledger() const { return folder_ / "ledger.json"; }
  std::filesystem::path policy() const { return folder_ / "policy.safetensors"; }
  std::filesystem::path summary() const { return folder_ / "summary.json"; }

  // learner.json, {"address", "pid", "session"}: what the launcher waits for.
  void WriteLearnerFile(const std::string& address, uint64_t session) const;

 private:
  void Lock(std::chrono::milliseconds patience, const std::atomic<bool>& interrupted);

  const std::filesystem::path folder_;
  int lock_ = -1;  // File descriptor. The kernel lets go of it when the process dies, however it dies.
};

}  // namespace emplace
