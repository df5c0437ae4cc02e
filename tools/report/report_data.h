// Collects everything that a report shows in one JSON document, from which the page draws.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace emplace {

struct ReportInputs {
  // Run directories, outputs of `emplace evaluate --json`, and emplace.anytime/1 (anytime_results.h).
  std::vector<std::string> sources = {};
  // All three are given, or none. If none is, the policy of the first run that has one places that run's first test
  // graph.
  std::string graph = {};
  std::string devices = {};
  std::string placement = {};
  // Most groups of the shown graph; not said: as many as its policy was trained with, or 128.
  std::optional<int64_t> max_groups = std::nullopt;
};

// Returns {"format": "emplace.report/1", "runs", "run_groups", "results": [{"path", "objective", "graphs",
// "rows_without_single", "methods"}], "anytime": [{"path", "seconds", "pairs", "methods"}], "placed": null or
// PlacedGraphToJson with "placed_by"}. Deterministic. Throws BadInput that names the path, what it holds, and what was
// expected.
nlohmann::ordered_json CollectReport(const ReportInputs& inputs);

}  // namespace emplace
