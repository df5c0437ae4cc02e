#include "tools/report/report_data.h"

#include <filesystem>
#include <optional>
#include <set>

#include "api/placing_wishes.h"
#include "api/task_inputs.h"
#include "common/error.h"
#include "common/files/file_io.h"
#include "common/strings.h"
#include "policy/policy_weights.h"
#include "simulator/graph/graph_io.h"
#include "simulator/task/placement_task.h"
#include "tools/report/anytime_results.h"
#include "tools/report/method_results.h"
#include "tools/report/placed_graph.h"
#include "tools/report/run_report.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

OrderedJson AnytimeToJson(const std::string& path, const AnytimeResults& results) {
  OrderedJson methods = OrderedJson::array();
  for (const AnytimeMethod& method : results.methods) {
    methods.push_back({{"method", method.method}, {"over_best", method.over_best}, {"runs", method.runs}});
  }
  return {{"path", path}, {"seconds", results.seconds}, {"pairs", results.pairs}, {"methods", std::move(methods)}};
}

OrderedJson ResultsToJson(const std::string& path, const EvaluationResults& results) {
  OrderedJson methods = OrderedJson::array();
  for (const MethodResults& method : results.methods) {
    OrderedJson cdf = {{"ratio", OrderedJson::array()}, {"share", OrderedJson::array()}};
    for (const CdfStep& step : method.cdf) {
      cdf["ratio"].push_back(step.ratio);
      cdf["share"].push_back(step.share);
    }
    methods.push_back({{"method", method.method},
                       {"placements", method.placements},
                       {"feasible", method.feasible},
                       {"wins", method.wins},
                       {"geometric_mean_ratio", method.geometric_mean_ratio},
                       {"seconds", method.seconds},
                       {"evaluations", method.evaluations},
                       {"cdf", std::move(cdf)}});
  }
  return {{"path", path},
          {"objective", ObjectiveNames().at(static_cast<size_t>(results.objective))},
          {"graphs", results.graphs},
          {"rows_without_single", results.rows_without_single},
          {"methods", std::move(methods)}};
}

OrderedJson PlacedFromFiles(const ReportInputs& inputs) {
  const OpGraph graph = LoadGraph(inputs.graph);
  const Cluster cluster = LoadCluster(inputs.devices);
  const auto [placement, orders] = LoadOrderedPlacement(inputs.placement, graph, cluster);
  OrderedJson placed = PlacedGraphToJson(graph, cluster, placement, MaxGroups(inputs.max_groups, nullptr), orders);
  placed["placed_by"] = inputs.placement;
  return placed;
}

// nullptr: the policy alone finds no placement that fits.
OrderedJson PlacedByPolicy(const TestGraph& files, std::optional<int64_t> max_groups) {
  const PolicyWeights policy = LoadPolicy(files.policy);
  const Cluster cluster = LoadCluster(files.devices);
  MethodOptions options;
  UsePolicyOn(cluster, files.devices.string(), policy, files.policy.string(), options);
  const OpGraph graph = LoadGraph(files.graph);
  const int32_t groups = MaxGroups(max_groups, &policy);
  CheckKinds(graph, cluster);
  const MethodResult result = MakeMethod("policy", options)->Place(PlacementTask::Make(graph, cluster, groups));
  if (!result.placement) return nullptr;
  OrderedJson placed = PlacedGraphToJson(graph, cluster, *result.placement, groups);
  placed["placed_by"] = files.policy.string();
  return placed;
}

OrderedJson Placed(const ReportInputs& inputs, const std::vector<fs::path>& run_dirs) {
  const int given = int{!inputs.graph.empty()} + int{!inputs.devices.empty()} + int{!inputs.placement.empty()};
  if (given == 3) return PlacedFromFiles(inputs);
  if (given > 0) throw BadInput("--graph, --devices and --placement belong together, expected all three or none");
  for (const fs::path& run_dir : run_dirs) {
    const std::optional<TestGraph> files = FindTestGraph(run_dir);
    if (files) return PlacedByPolicy(*files, inputs.max_groups);
  }
  return nullptr;
}

// What came twice would count twice in curves and means.
void CheckEachOnce(const std::vector<std::string>& sources) {
  std::set<fs::path> seen;
  for (const std::string& source : sources) {
    if (!seen.insert(fs::weakly_canonical(source)).second)
      throw BadInput(StrCat("source '", source, "' is named twice, expected each once"));
  }
}

}  // namespace

OrderedJson CollectReport(const ReportInputs& inputs) {
  CheckEachOnce(inputs.sources);
  OrderedJson runs = OrderedJson::array();
  OrderedJson results = OrderedJson::array();
  OrderedJson anytime = OrderedJson::array();
  std::vector<fs::path> run_dirs;
  for (const std::string& source : inputs.sources) {
    if (!fs::exists(source)) {
      throw BadInput(
          StrCat(source, ": does not exist, expected a run directory, or a file of results as emplace evaluate --json",
                 " writes it"));
    }
    if (fs::is_directory(source)) {
      runs.push_back(RunToJson(source));
      run_dirs.push_back(source);
      continue;
    }
    const std::string text = ReadFile(source);
    if (IsAnytime(text)) {
      anytime.push_back(AnytimeToJson(source, ParseAnytime(text, source)));
    } else {
      results.push_back(ResultsToJson(source, ParseEvaluation(text, source)));
    }
  }
  OrderedJson document = {{"format", "emplace.report/1"}, {"runs", nullptr}, {"run_groups", GroupRuns(runs)}};
  document["runs"] = std::move(runs);
  document["results"] = std::move(results);
  document["anytime"] = std::move(anytime);
  document["placed"] = Placed(inputs, run_dirs);
  return document;
}

}  // namespace emplace
