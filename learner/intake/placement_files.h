// Writes the best placements found to the run directory, where `emplace export` and people can read them at any time:
//
//   placements/<graph>.placement.json  the best placement of a training graph, by op (emplace.placement/1), with
//                                      "found": {"graph", "makespan_us", "ratio", "episodes", "steps", "update",
//                                      "seconds"}, the fields of FoundPlacement; "ratio" is null when there is none
//   placements/index.json              {"format", "graphs": [{"graph", "file", "episodes", "steps"}]}: all training
//                                      graphs in their order, the file of each one's placement, whether it exists or
//                                      not, and the numbers of episodes and steps sampled so far
//   placements.jsonl                   one "found" object on a line for each improvement
//
// A resumed run continues from these files and not from its checkpoint, so that nothing found or counted after the last
// checkpoint is forgotten.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "common/threads/mutex.h"
#include "learner/intake/best_placements.h"
#include "learner/storage/run_directory.h"
#include "learner/workload.h"
#include "simulator/graph/placement.h"

namespace emplace {

// Makes names distinct, in the order of `names`: a name that was used before gets "-2", "-3", ... at its end.
std::vector<std::string> DistinctNames(const std::vector<std::string>& names);
// Makes distinct file names that lie in their folder, whatever the graphs are called, and are short enough.
std::vector<std::string> DistinctFileStems(const std::vector<std::string>& names);

class PlacementFiles {
 public:
  // Reads the files of an earlier sitting into `best` and simulates each placement again. A file that cannot be read,
  // or does not fit the graph or the devices, is logged, and removed by the first Write(). Throws RunFailed when the
  // files cannot be written. REQUIRES: dir, workload and best outlive this object; `best` has considered no episode.
  PlacementFiles(const RunDirectory& dir, const Workload& workload, BestPlacements& best);

  // Writes all changes since the last call. Any thread may call it. Throws RunFailed.
  void Write();

 private:
  std::filesystem::path PathOf(GraphId graph) const;
  // The placement file of an earlier sitting; nullopt: there is none that can be used.
  std::optional<FoundPlacement> ReadBack(GraphId graph) EMPLACE_REQUIRES(mu_);
  void Forget(GraphId graph, const std::string& reason) EMPLACE_REQUIRES(mu_);
  void WritePlacement(GraphId graph, const Placement& placement, const FoundPlacement& found) const;
  std::vector<SampleCounts> ReadIndex() const;  // [train]
  void WriteIndex() EMPLACE_REQUIRES(mu_);
  // Repairs placements.jsonl after a process was killed: drops a partial line, and adds a line that is missing.
  void MendLines(const std::vector<std::optional<FoundPlacement>>& best) EMPLACE_REQUIRES(mu_);
  std::string Line(GraphId graph, const FoundPlacement& found) const;

  const std::filesystem::path folder_;
  const std::filesystem::path lines_path_;
  const Workload& workload_;
  BestPlacements& best_;
  const std::vector<std::string> names_;  // [train] graph names in the files
  const std::vector<std::string> stems_;  // [train] file names without their ending
  Mutex mu_;
  std::vector<GraphId> forgotten_ EMPLACE_GUARDED_BY(mu_);  // Whose files are to be removed.
  std::string index_ EMPLACE_GUARDED_BY(mu_);               // Text of index.json as it was last written.
  std::ofstream lines_ EMPLACE_GUARDED_BY(mu_);
};

}  // namespace emplace
