// Reads run directories for a report.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace emplace {

// Returns {"name", "path", "seed", "evaluations", "updates", "ledger", "summary"}. "evaluations" and "updates" have the
// columns of metrics_series.h, with null for NaN; "ledger" and "summary" are the files, or null when there is none yet.
// Throws BadInput "path: ..." when the folder is no run directory or a file in it is damaged.
nlohmann::ordered_json RunToJson(const std::filesystem::path& run_dir);

// Groups runs by the name of their configuration: [{"name", "runs": [index into `runs`], "bands": {"seconds",
// "update"}}]. Both bands are {"validation_ratio", "test_ratio", "mean_ratio", "measured_ratio"}, each of which is
// {"x", "mean", "low", "high"}. A single run has no bands.
nlohmann::ordered_json GroupRuns(const nlohmann::ordered_json& runs);

// The first test graph of a run, with the devices and the policy to place it.
struct TestGraph {
  std::filesystem::path graph;
  std::filesystem::path devices;
  std::filesystem::path policy;
};
// nullopt: the run has no policy yet or no test graph, or its devices file is missing.
std::optional<TestGraph> FindTestGraph(const std::filesystem::path& run_dir);

}  // namespace emplace
