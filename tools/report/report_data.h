// Everything that a report shows, as one JSON document: what the page draws from.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace emplace {

struct ReportInputs {
  std::vector<std::string> sources = {};  // Run directories and outputs of `emplace evaluate --json`.
  // All three or none. None: the first test graph of the first run that has a policy is placed by that policy.
  std::string graph = {};
  std::string devices = {};
  std::string placement = {};
  int64_t max_groups = 0;  // Of the shown graph; 0: as the policy was trained, or 128.
};

// {"format": "emplace.report/1", "runs", "run_groups", "results": [{"path", "graphs", "rows_without_single",
// "methods"}], "placed": null or PlacedGraphToJson with "placed_by"}. Deterministic. Throws BadInput "path: what,
// expected".
nlohmann::ordered_json CollectReport(const ReportInputs& inputs);

}  // namespace emplace
