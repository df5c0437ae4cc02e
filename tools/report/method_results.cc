#include "tools/report/method_results.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "api/evaluation/ratios.h"
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
  std::string graph;  // Its path where the file has it, since graphs in several files may have one name.
  std::string name;   // Of the graph.
  std::string method;
  uint64_t seed = 0;
  double us = 0;                           // What was to be minimized. Infinity: no placement.
  std::optional<double> single_device_us;  // In older files it is not in the row.
  bool feasible = false;
  double seconds = 0;
  int64_t evaluations = 0;
};

// The number, or infinity for null, which stands for no placement.
double TimeField(const Json& json, const char* key, const std::string& place) {
  return RequiredMember(json, key, place).is_null() ? kInfinity : NumberFromZero(json, key, place);
}

Row ParseRow(const Json& json, Objective objective, const std::string& place) {
  CheckIsObject(json, place);
  Row row;
  row.name = TextField(json, "graph", place);
  row.graph = json.contains("path") ? TextField(json, "path", place) : row.name;
  row.method = TextField(json, "method", place);
  if (json.contains("seed")) row.seed = static_cast<uint64_t>(NumberFromZero(json, "seed", place));
  row.us = TimeField(json, objective == Objective::kThroughput ? "max_load_us" : "makespan_us", place);
  if (json.contains("single_device_us")) row.single_device_us = TimeField(json, "single_device_us", place);
  row.feasible = TruthField(json, "feasible", place) && row.us < kInfinity;
  row.seconds = NumberFromZero(json, "seconds", place);
  row.evaluations = static_cast<int64_t>(std::min(NumberFromZero(json, "evaluations", place), 9e18));
  return row;
}

Objective ParseObjective(const Json& file, const std::string& source) {
  const auto settings = file.is_object() ? file.find("settings") : file.end();
  if (settings == file.end() || !settings->is_object() || !settings->contains("objective")) return Objective::kLatency;
  const std::string place = StrCat(source, ": settings");
  const std::string name = TextField(*settings, "objective", place);
  const std::vector<std::string> names = ObjectiveNames();
  if (std::ranges::find(names, name) == names.end())
    throw BadInput(StrCat(place, ": 'objective' is '", name, "', expected one of: ", Join(names, ", ")));
  return ObjectiveNamed(name);
}

std::vector<Row> ParseRows(const Json& file, Objective objective, const std::string& source) {
  const auto results = file.is_object() ? file.find("results") : file.end();
  if (results == file.end() || !results->is_array()) {
    throw BadInput(StrCat(source, ": has no list 'results', expected the output of emplace evaluate --json"));
  }
  if (results->empty())
    throw BadInput(StrCat(source, ": 'results' is empty, expected a row for each graph and method"));
  std::vector<Row> rows;
  for (const Json& row : *results)
    rows.push_back(ParseRow(row, objective, StrCat(source, ": results[", rows.size(), "]")));
  return rows;
}

// One-device time, us, of each graph that has one, by Row::graph.
std::map<std::string, double> SingleDeviceTimes(const Json& file, const std::vector<Row>& rows,
                                                const std::string& source) {
  std::map<std::string, double> of_name;
  const auto graphs = file.find("graphs");
  if (graphs != file.end()) {
    if (!graphs->is_object())
      throw BadInput(StrCat(source, ": 'graphs' is ", ShownJson(*graphs), ", expected an object"));
    for (const auto& [name, graph] : graphs->items()) {
      const std::string place = StrCat(source, ": graph '", name, "'");
      if (!graph.is_object()) throw BadInput(StrCat(place, " is ", ShownJson(graph), ", expected an object"));
      if (graph.contains("single_device_us") && !graph["single_device_us"].is_null()) {
        of_name[name] = NumberFromZero(graph, "single_device_us", place);
      }
    }
  }
  std::map<std::string, double> times;
  for (const Row& row : rows) {
    if (row.single_device_us) {
      times.emplace(row.graph, *row.single_device_us);
    } else if (const auto found = of_name.find(row.name); found != of_name.end()) {
      times.emplace(row.graph, found->second);
    }
  }
  for (const Row& row : rows) {
    if (row.method == "single") times.emplace(row.graph, row.us);
  }
  // Nothing can be divided by these.
  std::erase_if(times, [](const auto& entry) { return entry.second <= 0 || !std::isfinite(entry.second); });
  return times;
}

MethodResults Summarize(const std::string& method, const std::vector<Row>& rows,
                        const std::map<std::string, double>& single) {
  MethodResults results;
  results.method = method;
  std::vector<double> feasible_ratios;
  RatiosBySeed ratios;
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
    const double ratio = row.us / one_device->second;
    if (row.feasible) feasible_ratios.push_back(ratio);
    ratios.Add(row.seed, ratio);
  }
  results.geometric_mean_ratio = ratios.Mean().mean;
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
  EvaluationResults results;
  results.objective = ParseObjective(file, source);
  const std::vector<Row> rows = ParseRows(file, results.objective, source);
  const std::map<std::string, double> single = SingleDeviceTimes(file, rows, source);
  Wins wins;
  for (const Row& row : rows) wins.Add(row.graph, row.method, row.us, row.feasible);
  std::map<std::string, int64_t> wins_of = wins.ByMethod();

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
