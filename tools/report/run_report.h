// A run directory as a report shows it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace emplace {

// {"name", "path", "seed", "evaluations", "updates", "ledger", "summary"}: columns of metrics_series.h (null for NaN),
// and the files as they are, null where there is none yet. Throws BadInput "path: ..." for what is no run directory or
// is damaged.
nlohmann::ordered_json RunToJson(const std::filesystem::path& run_dir);

// Runs of the same configuration name side by side: [{"name", "runs": [index into `runs`], "bands": {"seconds" and
// "update":
// {"validation_ratio", "test_ratio", "mean_ratio": {"x", "mean", "low", "high"}}}}]; one run alone has no bands.
nlohmann::ordered_json GroupRuns(const nlohmann::ordered_json& runs);

// The first test graph of a run, which its policy shall place.
struct TestGraph {
  std::filesystem::path graph;
  std::filesystem::path devices;
  std::filesystem::path policy;
};
// nullopt when the run has no policy yet or no test graph, or the devices file is not there (any more).
std::optional<TestGraph> FindTestGraph(const std::filesystem::path& run_dir);

}  // namespace emplace
