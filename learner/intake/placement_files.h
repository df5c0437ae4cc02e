// The best placements found, in the run directory, where `emplace export` and people find them at any time:
//
//   placements/<graph>.placement.json  the best of one training graph, op by op (emplace.placement/1), and what is
//                                      known of it, "found": {"graph", "makespan_us", "ratio", "episodes", "steps",
//                                      "update", "seconds"}, as in FoundPlacement; "ratio" is null where there is none
//   placements/index.json              {"format", "graphs": [{"graph", "file", "episodes", "steps"}]}: all training
//                                      graphs, in their order, each with the file that its placement has or would have
//                                      and with what was sampled of it so far
//   placements.jsonl                   one "found" a line for each improvement
//
// A resumed run goes on from these files and not from its checkpoint: what has been found and counted since the last
// checkpoint was found and counted all the same.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "learner/intake/best_placements.h"
#include "learner/run_directory.h"
#include "learner/workload.h"
#include "simulator/placement.h"

namespace emplace {

// Names that differ from each other, in the order of `names`: where one has been used before, it gets "-2", "-3", ...
std::vector<std::string> DistinctNames(const std::vector<std::string>& names);
// The same as names of files: they stay in their folder, whatever the graphs are called, and are short enough.
std::vector<std::string> DistinctFileStems(const std::vector<std::string>& names);

// Not thread-safe.
class PlacementFiles {
 public:
  // Reads back what an earlier sitting has left into `best`, each placement simulated anew; what cannot be read, or
  // does not fit this machine, is logged and removed. Throws RunFailed when the files cannot be written. REQUIRES: dir,
  // workload and best outlive it; nothing has been considered.
  PlacementFiles(const RunDirectory& dir, const Workload& workload, BestPlacements& best);

  // Writes what has changed since the last call. Throws RunFailed.
  void Write();

 private:
  std::filesystem::path PathOf(GraphId graph) const;
  // Of an earlier sitting; nullopt: there is none that can be used.
  std::optional<FoundPlacement> ReadBack(GraphId graph);
  void Forget(GraphId graph, const std::string& reason) const;
  void WritePlacement(GraphId graph, const Placement& placement, const FoundPlacement& found) const;
  std::vector<SampleCounts> ReadIndex() const;  // [train]
  void WriteIndex();
  // Drops half a line, which a killed process may have left, and adds a line for a placement that it had no time for.
  void MendLines(const std::vector<std::optional<FoundPlacement>>& best);
  std::string Line(GraphId graph, const FoundPlacement& found) const;

  const std::filesystem::path folder_;
  const std::filesystem::path lines_path_;
  const Workload& workload_;
  BestPlacements& best_;
  const std::vector<std::string> names_;  // [train] as the files have them
  const std::vector<std::string> stems_;  // [train] of their files
  std::string index_;                     // As it was last written.
  std::ofstream lines_;
};

}  // namespace emplace
