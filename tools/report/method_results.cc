#include "tools/report/method_results.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "api/evaluation/wins.h"
#include "common/error.h"
#include "common/files/json_text.h"
#include "common/strings.h"
#include "tools/report/result_fields.h"

namespace emplace {
namespace {

using Json = nlohmann::json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Row {
  std::string graph;
  std::string method;
  double makespan_us = 0;  // Infinity: no placement.
  bool feasible = false;
  double seconds = 0;
  int64_t evaluations = 0;
};

Row ParseRow(const Json& json, const std::string& place) {
  CheckIsObject(json, place);
  Row row;
  row.graph = TextField(json, "graph", place);
  row.method = TextField(json, "method", place);
  const bool placed = !RequiredMember(json, "makespan_us", place).is_null();
  row.makespan_us = placed ? NumberFromZero(json, "makespan_us", place) : kInfinity;
  row.feasible = TruthField(json, "feasible", place) && placed;
  row.seconds = NumberFromZero(json, "seconds", place);
  row.evaluations = static_cast<int64_t>(std::min(NumberFromZero(json, "evaluations", place), 9e18));
  return row;
}

std::vector<Row> ParseRows(const Json& file, const std::string& source) {
  const auto results = file.is_object() ? file.find("results") : file.end();
  if (results == file.end() || !results->is_array()) {
    throw BadInput(StrCat(source, ": has no list 'results', expected the output of emplace evaluate --json"));
  }
  if (results->empty())
    throw BadInput(StrCat(source, ": 'results' is empty, expected a row for each graph and method"));
  std::vector<Row> rows;
  for (const Json& row : *results) rows.push_back(ParseRow(row, StrCat(source, ": results[", rows.size(), "]")));
  return rows;
}

// One-device time, us, of each graph that has one.
std::map<std::string, double> SingleDeviceTimes(const Json& file, const std::vector<Row>& rows,
                                                const std::string& source) {
  std::map<std::string, double> times;
  const auto graphs = file.find("graphs");
  if (graphs != file.end()) {
    if (!graphs->is_object())
      throw BadInput(StrCat(source, ": 'graphs' is ", ShownJson(*graphs), ", expected an object"));
    for (const auto& [name, graph] : graphs->items()) {
      const std::string place = StrCat(source, ": graph '", name, "'");
      if (!graph.is_object()) throw BadInput(StrCat(place, " is ", ShownJson(graph), ", expected an object"));
      if (graph.contains("single_device_us") && !graph["single_device_us"].is_null()) {
        times[name] = NumberFromZero(graph, "single_device_us", place);
      }
    }
  }
  for (const Row& row : rows) {
    if (row.method == "single" && std::isfinite(row.makespan_us)) times.emplace(row.graph, row.makespan_us);
  }
  std::erase_if(times, [](const auto& entry) { return entry.second <= 0; });  // Nothing can be divided by these.
  return times;
}

MethodResults Summarize(const std::string& method, const std::vector<Row>& rows,
                        const std::map<std::string, double>& single) {
  MethodResults results;
  results.method = method;
  std::vector<double> feasible_ratios;
  double log_sum = 0;
  int64_t with_ratio = 0;
  int64_t with_single = 0;
  for (const Row& row : rows) {
    if (row.method != method) continue;
    ++results.placements;
    results.feasible += row.feasible ? 1 : 0;
    results.seconds += row.seconds;
    results.evaluations += row.evaluations;
    const auto one_device = single.find(row.graph);
    if (one_device == single.end()) continue;
    ++with_single;
    const double ratio = row.makespan_us / one_device->second;
    if (row.feasible) feasible_ratios.push_back(ratio);
    if (!std::isfinite(ratio) || ratio <= 0) continue;
    log_sum += std::log(ratio);
    ++with_ratio;
  }
  results.geometric_mean_ratio = with_ratio > 0 ? std::exp(log_sum / static_cast<double>(with_ratio)) : std::nan("");
  std::sort(feasible_ratios.begin(), feasible_ratios.end());
  for (size_t i = 0; i < feasible_ratios.size(); ++i) {
    const double share = static_cast<double>(i + 1) / static_cast<double>(with_single);
    if (!results.cdf.empty() && results.cdf.back().ratio == feasible_ratios[i]) {
      results.cdf.back().share = share;
    } else {
      results.cdf.push_back({feasible_ratios[i], share});
    }
  }
  return results;
}

}  // namespace

EvaluationResults ParseEvaluation(std::string_view text, const std::string& source) {
  const Json file = ParseJson(text, source);
  const std::vector<Row> rows = ParseRows(file, source);
  const std::map<std::string, double> single = SingleDeviceTimes(file, rows, source);
  Wins wins;
  for (const Row& row : rows) wins.Add(row.graph, row.method, row.makespan_us, row.feasible);
  std::map<std::string, int64_t> wins_of = wins.ByMethod();

  EvaluationResults results;
  std::set<std::string> graphs;
  std::set<std::string> methods;
  for (const Row& row : rows) {
    graphs.insert(row.graph);
    if (!single.contains(row.graph)) ++results.rows_without_single;
    if (!methods.insert(row.method).second) continue;
    results.methods.push_back(Summarize(row.method, rows, single));
    results.methods.back().wins = wins_of[row.method];
  }
  results.graphs = static_cast<int64_t>(graphs.size());
  return results;
}

}  // namespace emplace
