#include "api/evaluation/results_file.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/place_graph.h"
#include "common/error.h"
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
const nlohmann::json kSettingsOfOldFiles = {{"order", ""}, {"objective", "latency"}};

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
  // In the row, since graphs in several files may have one name; files that are older have it by name alone.
  result.single_device_us =
      NumberOrInfinity((entry.contains("single_device_us") ? entry : graphs.at(result.graph)).at("single_device_us"));
  return result;
}

}  // namespace

OrderedJson SettingsOf(const EvaluationPlan& plan, const std::string& policy_path) {
  OrderedJson settings = {
      {"devices", ClusterToYaml(plan.cluster)},
      {"policy", policy_path},
      {"policy_version", plan.policy_version ? OrderedJson(*plan.policy_version) : OrderedJson(nullptr)},
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
                    {"path", result.key.path}});
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
      throw BadInput(StrCat(path.string(), ": was made with another '", key, "', expected ", ShownJson(value),
                            ", it says ", ShownJson(made_with.at(key))));
    }
    for (const nlohmann::json& entry : document.at("results"))
      results.push_back(FromJson(entry, document.at("graphs")));
  } catch (const nlohmann::json::exception& error) {
    throw BadInput(StrCat(path.string(), ": no results of an evaluation: ", error.what()));
  }
  return results;
}

}  // namespace emplace
