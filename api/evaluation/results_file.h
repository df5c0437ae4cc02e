// The JSON document of an evaluation: what `emplace evaluate --json` prints, --out keeps and --resume goes on from.
//
// {"results": [{"graph", "method", "seed", "makespan_us", "max_load_us", "peak_bytes", "feasible", "placed_us",
//  "placed_feasible", "evaluations", "seconds", "single_device_us", "path", "graph_hash"}],
//  "summary": {method: {"graphs", "runs", "feasible", "wins", "geometric_mean_ratio_to_single", "ci95", "seconds",
//  "evaluations"}}, "graphs": {name: {"path", "single_device_us"}}, "settings": {...}}
// What does not exist is null: JSON has no infinity.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "api/evaluation/evaluation.h"
#include "api/evaluation/summary.h"

namespace emplace {

// What results depend on besides graph, method and seed: an evaluation goes on only under the same settings.
nlohmann::ordered_json SettingsOf(const EvaluationPlan& plan, const std::string& policy_path);

nlohmann::ordered_json ToDocument(const std::vector<RunResult>& results, const std::vector<MethodSummary>& summaries,
                                  const nlohmann::ordered_json& settings);

// The results of a file that was made with these settings, of graphs that are still the same. Throws BadInput
// "path: ..." for anything else.
std::vector<RunResult> LoadResults(const std::filesystem::path& path, const nlohmann::ordered_json& settings);

}  // namespace emplace
