#include "tools/report/run_report.h"

#include <limits>

#include "api/task_inputs.h"
#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/json_text.h"
#include "common/strings.h"
#include "policy/config/run_config.h"
#include "tools/report/curve_band.h"
#include "tools/report/metrics_series.h"
#include "tools/report/result_fields.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr size_t kMostPoints = 240;  // Of a curve: as fine as a chart of half a page shows.

OrderedJson ObjectOrNull(const fs::path& path) {
  if (!fs::exists(path)) return nullptr;
  const nlohmann::json file = ParseJson(ReadFile(path), path.string());
  CheckIsObject(file, path.string());
  return file;
}

OrderedJson Columns(const EvaluationSeries& series) {
  return {{"update", series.update},
          {"seconds", series.seconds},
          {"validation_ratio", series.validation_ratio},
          {"test_ratio", series.test_ratio}};
}

OrderedJson Columns(const UpdateSeries& series) {
  OrderedJson busy_share;
  for (size_t stage = 0; stage < metrics::kStages.size(); ++stage) {
    busy_share[metrics::kStages[stage]] = series.busy_share[stage];
  }
  return {{"update", series.update},
          {"seconds", series.seconds},
          {"mean_ratio", series.mean_ratio},
          {"best_ratio", series.best_ratio},
          {"min_lag", series.min_lag},
          {"mean_lag", series.mean_lag},
          {"max_lag", series.max_lag},
          {"episodes_per_s", series.episodes_per_s},
          {"steps_per_s", series.steps_per_s},
          {"busy_share", busy_share},
          {"blocked_share", series.blocked_share},
          {"measured_ratio", series.measured_ratio},
          {"measured_episodes_per_s", series.measured_episodes_per_s},
          {"window_share", series.window_share}};
}

std::vector<double> Column(const OrderedJson& table, const char* name) {
  std::vector<double> values;
  for (const OrderedJson& value : table[name]) {
    values.push_back(value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN());
  }
  return values;
}

OrderedJson BandToJson(const OrderedJson& runs, const std::vector<size_t>& members, const char* table, const char* x,
                       const char* y) {
  std::vector<Curve> curves;
  for (const size_t r : members) curves.push_back({Column(runs[r][table], x), Column(runs[r][table], y)});
  const CurveBand band = BandOf(curves, kMostPoints);
  return {{"x", band.x}, {"mean", band.mean}, {"low", band.low}, {"high", band.high}};
}

OrderedJson BandsOver(const char* x, const OrderedJson& runs, const std::vector<size_t>& members) {
  return {{"validation_ratio", BandToJson(runs, members, "evaluations", x, "validation_ratio")},
          {"test_ratio", BandToJson(runs, members, "evaluations", x, "test_ratio")},
          {"mean_ratio", BandToJson(runs, members, "updates", x, "mean_ratio")},
          {"measured_ratio", BandToJson(runs, members, "updates", x, "measured_ratio")}};
}

}  // namespace

OrderedJson RunToJson(const fs::path& run_dir) {
  const fs::path config_path = run_dir / "config.yaml";
  const fs::path metrics_path = run_dir / "metrics.jsonl";
  if (!fs::exists(config_path)) {
    throw BadInput(StrCat(run_dir.string(), ": is a folder without config.yaml, expected a run directory"));
  }
  const RunConfig config = LoadRunConfig(config_path);
  MetricsSeries series;
  if (fs::exists(metrics_path)) series = ParseMetrics(ReadFile(metrics_path), metrics_path.string(), kMostPoints);
  return {{"name", config.name},
          {"path", run_dir.string()},
          {"seed", config.seed},
          {"evaluations", Columns(series.evaluations)},
          {"updates", Columns(series.updates)},
          {"ledger", ObjectOrNull(run_dir / "ledger.json")},
          {"summary", ObjectOrNull(run_dir / "summary.json")}};
}

OrderedJson GroupRuns(const OrderedJson& runs) {
  std::vector<std::pair<std::string, std::vector<size_t>>> members;  // By name, in the order of the first run.
  for (size_t r = 0; r < runs.size(); ++r) {
    const std::string name = runs[r]["name"];
    auto group = std::find_if(members.begin(), members.end(), [&](const auto& other) { return other.first == name; });
    if (group == members.end()) group = members.insert(group, {name, {}});
    group->second.push_back(r);
  }
  OrderedJson groups = OrderedJson::array();
  for (const auto& [name, indices] : members) {
    OrderedJson group = {{"name", name}, {"runs", indices}, {"bands", nullptr}};
    if (indices.size() > 1) {
      group["bands"] = {{"seconds", BandsOver("seconds", runs, indices)},
                        {"update", BandsOver("update", runs, indices)}};
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::optional<TestGraph> FindTestGraph(const fs::path& run_dir) {
  const RunConfig config = LoadRunConfig(run_dir / "config.yaml");
  TestGraph found{{}, config.workload.devices, run_dir / "policy.safetensors"};
  if (!fs::exists(found.policy) || !fs::exists(found.devices)) return std::nullopt;
  if (fs::exists(run_dir / "graphs" / "split.json")) {
    const std::vector<fs::path> graphs = FindGraphs({(run_dir / "graphs").string()}, "test");
    if (!graphs.empty()) found.graph = graphs.front();
  } else if (!config.workload.test_graphs.empty()) {
    found.graph = config.workload.test_graphs.front();
  }
  if (found.graph.empty() || !fs::exists(found.graph)) return std::nullopt;
  return found;
}

}  // namespace emplace
