#include "tools/evaluate_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/graph_io.h"
#include "simulator/methods/placement_method.h"
#include "tools/task_inputs.h"

namespace emplace {
namespace {

struct EvaluateArguments {
  std::vector<std::string> graphs;
  std::string split;
  std::string devices;
  std::string policy;
  std::string methods = "single,random,policy";
  int32_t samples = 0;
  int64_t budget = 100;
  int64_t max_groups = 0;
  uint64_t seed = 1;
  bool json = false;
};

struct Row {
  std::string graph;
  std::string method;
  MethodScore score;
  int64_t evaluations = 0;
  double seconds = 0;
  double single_device_us = 0;  // Infinity when no device may run every op.
};

struct MethodSummary {
  std::string method;
  int64_t graphs = 0;
  int64_t feasible = 0;
  int64_t wins = 0;                   // Graphs where no method of this evaluation was faster (ties count for all).
  double geometric_mean_ratio = 0;    // Of makespan / one device, over the graphs where both exist; NaN: none.
  double seconds = 0;
};

bool Beats(const Row& a, const Row& b) {
  if (a.score.feasible != b.score.feasible) return a.score.feasible;
  return a.score.makespan_us < b.score.makespan_us;
}

std::vector<MethodSummary> Summarize(const std::vector<Row>& rows, const std::vector<std::string>& methods) {
  std::vector<MethodSummary> summaries;
  for (const std::string& method : methods) {
    MethodSummary summary{.method = method};
    double log_sum = 0;
    int64_t ratios = 0;
    for (const Row& row : rows) {
      if (row.method != method) continue;
      ++summary.graphs;
      summary.seconds += row.seconds;
      if (row.score.feasible) ++summary.feasible;
      const bool beaten = std::any_of(rows.begin(), rows.end(), [&](const Row& other) {
        return other.graph == row.graph && Beats(other, row);
      });
      if (row.score.feasible && !beaten) ++summary.wins;
      const double ratio = row.score.makespan_us / row.single_device_us;
      if (std::isfinite(ratio) && ratio > 0) {
        log_sum += std::log(ratio);
        ++ratios;
      }
    }
    summary.geometric_mean_ratio = ratios > 0 ? std::exp(log_sum / static_cast<double>(ratios)) : std::nan("");
    summaries.push_back(summary);
  }
  return summaries;
}

// JSON has no infinity and no NaN; what does not exist is null.
nlohmann::ordered_json NumberOrNull(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

void PrintJson(const std::vector<Row>& rows, const std::vector<MethodSummary>& summaries) {
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    results.push_back({{"graph", row.graph},
                       {"method", row.method},
                       {"makespan_us", NumberOrNull(row.score.makespan_us)},
                       {"peak_bytes", row.score.peak_bytes},
                       {"feasible", row.score.feasible},
                       {"evaluations", row.evaluations},
                       {"seconds", row.seconds}});
  }
  nlohmann::ordered_json by_method = nlohmann::ordered_json::object();
  for (const MethodSummary& summary : summaries) {
    by_method[summary.method] = {{"graphs", summary.graphs},
                                 {"feasible", summary.feasible},
                                 {"wins", summary.wins},
                                 {"geometric_mean_ratio_to_single", NumberOrNull(summary.geometric_mean_ratio)},
                                 {"seconds", summary.seconds}};
  }
  const nlohmann::ordered_json document = {{"results", std::move(results)}, {"summary", std::move(by_method)}};
  std::printf("%s\n", document.dump().c_str());
}

void PrintTable(const std::vector<Row>& rows, const std::vector<MethodSummary>& summaries) {
  size_t name_width = 5;
  for (const Row& row : rows) name_width = std::max(name_width, row.graph.size());
  const int width = static_cast<int>(name_width);
  std::printf("%-*s  %-10s %13s %12s %6s %12s %9s\n", width, "graph", "method", "makespan ms", "/ 1 device", "fits",
              "evaluations", "seconds");
  for (const Row& row : rows) {
    std::printf("%-*s  %-10s %13.3f %12.3f %6s %12lld %9.2f\n", width, row.graph.c_str(), row.method.c_str(),
                row.score.makespan_us / 1e3, row.score.makespan_us / row.single_device_us,
                row.score.feasible ? "yes" : "no", static_cast<long long>(row.evaluations), row.seconds);
  }
  std::printf("\n%-10s %8s %10s %6s %26s\n", "method", "graphs", "feasible", "wins", "geometric mean / 1 device");
  for (const MethodSummary& summary : summaries) {
    std::printf("%-10s %8lld %10lld %6lld %26.3f\n", summary.method.c_str(), static_cast<long long>(summary.graphs),
                static_cast<long long>(summary.feasible), static_cast<long long>(summary.wins),
                summary.geometric_mean_ratio);
  }
  std::printf("\nLower is better; 'wins' counts the graphs on which no other method of this table is faster.\n");
}

int Evaluate(const EvaluateArguments& args) {
  MethodOptions options;
  options.budget = args.budget;
  options.seed = args.seed;
  options.samples = args.samples;
  if (!args.policy.empty()) options.policy = LoadPolicy(args.policy);
  const Cluster cluster = LoadCluster(args.devices);
  if (options.policy) CheckPolicyFits(*options.policy, args.policy, cluster, args.devices);
  const std::vector<std::string> names = Split(args.methods, ',');
  std::vector<std::unique_ptr<PlacementMethod>> methods;
  for (const std::string& name : names) methods.push_back(MakeMethod(name, options));

  std::vector<Row> rows;
  for (const std::filesystem::path& path : FindGraphs(args.graphs, args.split)) {
    const OpGraph graph = LoadGraph(path);
    CheckKinds(graph, cluster);
    const PlacementTask task = PlacementTask::Make(graph, cluster, MaxGroups(args.max_groups, options.policy));
    for (const std::unique_ptr<PlacementMethod>& method : methods) {
      const auto begin = std::chrono::steady_clock::now();
      const MethodResult result = method->Place(task);
      Row row{.graph = graph.name(), .method = method->name(), .score = Score(task, result)};
      row.evaluations = result.evaluations;
      row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      row.single_device_us = task.single_device_us;
      rows.push_back(std::move(row));
    }
  }
  const std::vector<MethodSummary> summaries = Summarize(rows, names);
  if (args.json) {
    PrintJson(rows, summaries);
  } else {
    PrintTable(rows, summaries);
  }
  return 0;
}

}  // namespace

void AddEvaluateCommand(CLI::App& app, std::function<int()>& run) {
  auto args = std::make_shared<EvaluateArguments>();
  CLI::App* command = app.add_subcommand("evaluate", "Compare placement methods on graphs");
  command->add_option("--graphs", args->graphs, "Graphs, or folders of graphs")->required();
  command->add_option("--split", args->split, "Of each folder only this part of its split.json")
      ->check(CLI::IsMember({"train", "test"}));
  command->add_option("--devices", args->devices, "Devices, YAML")->required();
  command->add_option("--policy", args->policy, "Policy, RUN_DIR/policy.safetensors");
  command->add_option("--methods", args->methods, "Comma-separated, of: " + Join(MethodNames(), ", "))
      ->capture_default_str();
  command->add_option("--samples", args->samples, "For `policy`: sampled episodes beside the greedy one")
      ->check(CLI::Range(0, 1000000));
  command->add_option("--budget", args->budget, "Placements that a searching method may try")
      ->check(CLI::Range(1, 1000000000))
      ->capture_default_str();
  command->add_option("--max-groups", args->max_groups, "Groups to decide on; default: as the policy was trained, or 128")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--seed", args->seed, "Of everything random")->capture_default_str();
  command->add_flag("--json", args->json, "Print one JSON document");
  command->callback([args, &run] { run = [args] { return Evaluate(*args); }; });
}

}  // namespace emplace
