#include "api/evaluation/results_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/place_graph.h"
#include "common/error.h"
#include "common/files/content_hash.h"
#include "common/files/file_io.h"
#include "common/files/json_text.h"
#include "common/strings.h"

namespace emplace {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson NumberOrNull(double value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr); }

OrderedJson ToJson(const ConfigField::Value& value) {
  return std::visit([](const auto& held) { return OrderedJson(held); }, value);
}

// What files say that are from before evaluations had these settings; options of methods have their defaults there.
const nlohmann::json kSettingsOfOldFiles = {{"order", ""}, {"objective", "latency"}, {"policy_hash", ""}};

double NumberOrInfinity(const nlohmann::json& value) {
  return value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
}

RunResult FromJson(const nlohmann::json& entry, const nlohmann::json& graphs) {
  RunResult result;
  entry.at("graph").get_to(result.graph);
  entry.at("path").get_to(result.key.path);
  entry.at("method").get_to(result.key.method);
  entry.at("seed").get_to(result.key.seed);
  result.score.makespan_us = NumberOrInfinity(entry.at("makespan_us"));
  result.score.max_load_us = NumberOrInfinity(entry.value("max_load_us", nlohmann::json()));
  entry.at("peak_bytes").get_to(result.score.peak_bytes);
  entry.at("feasible").get_to(result.score.feasible);
  result.placed_us = NumberOrInfinity(entry.at("placed_us"));
  entry.at("placed_feasible").get_to(result.placed_feasible);
  entry.at("evaluations").get_to(result.evaluations);
  entry.at("seconds").get_to(result.seconds);
  result.graph_hash = entry.value("graph_hash", "");  // Older files do not have it.
  // In the row, since graphs in several files may have one name; files that are older have it by name alone.
  result.single_device_us =
      NumberOrInfinity((entry.contains("single_device_us") ? entry : graphs.at(result.graph)).at("single_device_us"));
  return result;
}

// The values as texts; of texts of several lines, such as a cluster's, the first line that is another one.
std::pair<std::string, std::string> WhereTheyDiffer(const nlohmann::json& a, const nlohmann::json& b) {
  if (!a.is_string() || !b.is_string()) return {ShownJson(a), ShownJson(b)};
  const std::vector<std::string> lines = Split(a.get<std::string>(), '\n');
  const std::vector<std::string> others = Split(b.get<std::string>(), '\n');
  const auto differ = std::mismatch(lines.begin(), lines.end(), others.begin(), others.end());
  const auto shown = [](auto line, const std::vector<std::string>& all) {
    return ShownJson(line == all.end() ? "" : *line);
  };
  return {shown(differ.first, lines), shown(differ.second, others)};
}

void CheckGraphsAreTheSame(const std::filesystem::path& path, const std::vector<RunResult>& results) {
  std::map<std::string, std::string> hashes;  // By path, of the files as they are now.
  for (const RunResult& result : results) {
    if (result.graph_hash.empty() || !std::filesystem::exists(result.key.path)) continue;
    const auto [found, is_new] = hashes.emplace(result.key.path, "");
    if (is_new) found->second = ContentHash(ReadMaybeCompressedFile(result.key.path));
    if (found->second != result.graph_hash)
      throw BadInput(StrCat(path.string(), ": has results of graph '", result.key.path,
                            "' as it was before it was changed, expected those of the same graph"));
  }
}

}  // namespace

OrderedJson SettingsOf(const EvaluationPlan& plan, const std::string& policy_path) {
  OrderedJson settings = {
      {"devices", ClusterToYaml(plan.cluster)},
      {"policy", policy_path},
      {"policy_version", plan.policy_version ? OrderedJson(*plan.policy_version) : OrderedJson(nullptr)},
      {"policy_hash", plan.policy_hash},
      {"budget", plan.options.budget},
      {"seconds", plan.options.seconds},
      {"order", plan.options.order.empty() && !plan.options.orders ? kNoOrder : plan.options.order},
      {"objective", ObjectiveNames().at(static_cast<size_t>(plan.options.objective))},
      {"max_groups", plan.max_groups}};
  for (const OwnOption& option : OwnOptions()) {
    const auto given = plan.options.own.find(option.field.name);
    settings[option.field.name] = ToJson(given == plan.options.own.end() ? option.value : given->second);
  }
  return settings;
}

OrderedJson ToDocument(const std::vector<RunResult>& results, const std::vector<MethodSummary>& summaries,
                       const OrderedJson& settings) {
  OrderedJson rows = OrderedJson::array();
  OrderedJson graphs = OrderedJson::object();
  for (const RunResult& result : results) {
    rows.push_back({{"graph", result.graph},
                    {"method", result.key.method},
                    {"seed", result.key.seed},
                    {"makespan_us", NumberOrNull(result.score.makespan_us)},
                    {"max_load_us", NumberOrNull(result.score.max_load_us)},
                    {"peak_bytes", result.score.peak_bytes},
                    {"feasible", result.score.feasible},
                    {"placed_us", NumberOrNull(result.placed_us)},
                    {"placed_feasible", result.placed_feasible},
                    {"evaluations", result.evaluations},
                    {"seconds", result.seconds},
                    {"single_device_us", NumberOrNull(result.single_device_us)},
                    {"path", result.key.path},
                    {"graph_hash", result.graph_hash}});
    graphs[result.graph] = {{"path", result.key.path}, {"single_device_us", NumberOrNull(result.single_device_us)}};
  }
  OrderedJson by_method = OrderedJson::object();
  for (const MethodSummary& summary : summaries) {
    by_method[summary.method] = {{"graphs", summary.graphs},
                                 {"runs", summary.runs},
                                 {"feasible", summary.feasible},
                                 {"wins", summary.wins},
                                 {"geometric_mean_ratio_to_single", NumberOrNull(summary.ratio.mean)},
                                 {"ci95", {NumberOrNull(summary.ratio.low), NumberOrNull(summary.ratio.high)}},
                                 {"seconds", summary.seconds},
                                 {"evaluations", summary.evaluations}};
  }
  return {{"results", std::move(rows)},
          {"summary", std::move(by_method)},
          {"graphs", std::move(graphs)},
          {"settings", settings}};
}

std::vector<RunResult> LoadResults(const std::filesystem::path& path, const OrderedJson& settings) {
  const nlohmann::json document = ParseJson(ReadFile(path), path.string());
  std::vector<RunResult> results;
  try {
    nlohmann::json made_with = kSettingsOfOldFiles;
    for (const OwnOption& option : OwnOptions()) made_with[option.field.name] = ToJson(option.value);
    made_with.update(document.at("settings"));
    for (const auto& [key, value] : settings.items()) {
      if (made_with.at(key) == nlohmann::json(value)) continue;
      const auto [expected, found] = WhereTheyDiffer(value, made_with.at(key));
      throw BadInput(
          StrCat(path.string(), ": was made with another '", key, "', expected ", expected, ", it says ", found));
    }
    for (const nlohmann::json& entry : document.at("results"))
      results.push_back(FromJson(entry, document.at("graphs")));
  } catch (const nlohmann::json::exception&) {
    throw BadInput(StrCat(path.string(), ": holds no results of an evaluation, expected a file of `evaluate --out`"));
  }
  CheckGraphsAreTheSame(path, results);
  return results;
}

}  // namespace emplace
