// The numbers of a run: one JSON object a line in metrics.jsonl, and the same scalars for TensorBoard. Not thread-safe.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "common/files/tensorboard_writer.h"

namespace emplace {

using Scalars = std::vector<std::pair<std::string, double>>;

// Whether an update has a line: the first 100,000 all have one, then every tenth up to a million, every hundredth up to
// ten million, and so on. So the curves of a run of weeks stay below a gigabyte.
bool HasLine(int64_t update);

class Metrics {
 public:
  // Appends to RUN_DIR/metrics.jsonl and starts an event file in RUN_DIR/tensorboard. A run that goes on after
  // `updates` updates first loses the lines past them: they tell of a sitting that was killed after its last
  // checkpoint. Throws RunFailed.
  Metrics(const std::filesystem::path& run_dir, int64_t updates);

  // kind: "update" or "evaluation". NaN and infinities are written as null, and left out for TensorBoard.
  void Write(const std::string& kind, int64_t update, double seconds, const Scalars& scalars);

 private:
  std::filesystem::path path_;
  std::ofstream out_;
  TensorboardWriter tensorboard_;
};

}  // namespace emplace
