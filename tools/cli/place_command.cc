#include "tools/cli/place_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/place_graph.h"
#include "api/run_files.h"
#include "api/serving.h"
#include "api/task_inputs.h"
#include "common/command_line.h"
#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/json_text.h"
#include "common/files/output_files.h"
#include "common/strings.h"
#include "common/threads/interrupt.h"
#include "policy/placer/policy_method.h"
#include "policy/policy_weights.h"
#include "simulator/engine/simulator.h"
#include "simulator/engine/trace_writer.h"
#include "simulator/graph/graph_io.h"
#include "simulator/methods/placement_method.h"
#include "tools/cli/placing_options.h"
#include "tools/cli/search_line.h"

namespace emplace {
namespace {

constexpr double kDefaultSeconds = 1;

struct PlaceArguments {
  std::string graph;
  std::string devices;
  std::string policy;
  std::string method = "auto";
  std::string objective = "latency";
  std::string order;
  std::string out;
  std::string trace;
  std::map<std::string, std::string> own;  // Options that some methods alone have.
  int64_t budget = 0;
  double seconds = 0;
  int threads = 0;
  std::optional<int64_t> max_groups;
  uint64_t seed = 1;
  bool json = false;
};

// Why everything is on one device although another method was asked for.
// fits: whether the single device has memory for everything.
void PrintFallback(const std::string& method, const MethodResult& result, const MethodScore& found, bool fits) {
  std::string why = "it found no legal placement";
  if (result.placement && !found.feasible) {
    why = fits ? "its placement does not fit the devices' memory" : "its placement lacks more memory";
  } else if (result.placement) {
    why = Format("a step of its placement takes %.3f ms", found.makespan_us / 1e3);
  }
  std::printf(
      "  fallback             everything is on the best single device, which is better than what %s found: %s\n",
      method.c_str(), why.c_str());
}

// Which devices lack memory, and how much.
std::string MissingMemory(const Cluster& cluster, const std::vector<int64_t>& peak_bytes) {
  std::vector<std::string> missing;
  for (size_t d = 0; d < peak_bytes.size(); ++d) {
    const int64_t bytes = peak_bytes[d] - cluster.devices[d].memory_bytes;
    if (bytes > 0) missing.push_back(StrCat(ShownBytes(static_cast<double>(bytes)), " on ", cluster.devices[d].name));
  }
  return Join(missing, ", ");
}

void CheckPlaceFiles(const PlaceArguments& args) {
  std::vector<FileArgument> inputs = InputFiles("--policy", args.policy);
  inputs.insert(inputs.end(), {{"--graph", args.graph}, {"--devices", args.devices}});
  CheckOutputFiles({{"--out", args.out}, {"--trace", args.trace}}, inputs);
}

int Place(const PlaceArguments& args) {
  CheckPlaceFiles(args);
  MethodOptions options;
  options.budget = args.budget;
  options.seconds = args.seconds > 0 || args.budget > 0 ? args.seconds : kDefaultSeconds;
  options.threads = Threads(args.threads);
  options.seed = args.seed;
  SetOwnOptions(args.own, {args.method}, options);
  options.objective = ObjectiveNamed(args.objective);
  const std::optional<PolicyWeights> policy = PolicyAsked(args.policy);
  const Cluster cluster = LoadCluster(args.devices);
  if (policy) {
    CheckPolicyFits(*policy, args.policy, cluster, args.devices);
    UsePolicy(*policy, options);
  }
  std::optional<SearchLine> line;
  options.progress = [&](const SearchProgress& progress) { line->Show(progress); };
  options.stop = &Interrupted();
  AskForOrder(args.order, options);
  MakeMethod(args.method, options);  // Wrong options, before the graph is read.
  const OpGraph graph = LoadGraph(args.graph);
  line.emplace();
  const PlacedGraph placed = PlaceGraph(graph, cluster,
                                        {.graph_source = args.graph,
                                         .devices_source = args.devices,
                                         .method = args.method,
                                         .max_groups = MaxGroups(args.max_groups, policy ? &*policy : nullptr)},
                                        options);
  FinishDespiteInterrupt();
  line.reset();
  const auto& [task, result, found, chosen, found_by, lower_bound_us, load_bound_us, seconds] = placed;
  const auto& [placement, score, orders, discipline, fallback] = chosen;

  if (!args.out.empty()) WriteFileAtomically(args.out, PlacementToJson(graph, cluster, placement, "", orders));
  if (!args.trace.empty()) {
    Simulator simulator(task.sim, orders);
    WriteFileAtomically(args.trace, TraceToJson(graph, cluster, task.sim, placement, simulator.Run(placement)));
  }

  std::optional<ServingFigures> serving;
  if (const std::optional<ServedStep> step = ServedStepOf(graph)) {
    serving = Serving(graph, cluster, *step, placement, score.peak_bytes, score.makespan_us, score.max_load_us);
  }
  std::vector<int64_t> left_bytes;  // [D]
  for (size_t d = 0; d < cluster.devices.size(); ++d) {
    left_bytes.push_back(cluster.devices[d].memory_bytes - score.peak_bytes[d]);
  }

  if (args.json) {
    nlohmann::ordered_json document = {{"graph", graph.name()},
                                       {"method", args.method},
                                       {"found_by", found_by},
                                       {"makespan_us", score.makespan_us},
                                       {"max_load_us", score.max_load_us},
                                       {"single_device_us", task.single_device_us},
                                       {"lower_bound_us", lower_bound_us},
                                       {"peak_bytes", score.peak_bytes},
                                       {"left_bytes", left_bytes},
                                       {"feasible", score.feasible},
                                       {"groups", task.groups.num_groups},
                                       {"evaluations", result.evaluations},
                                       {"seconds", seconds}};
    if (options.objective == Objective::kThroughput) document["load_bound_us"] = load_bound_us;
    if (!discipline.empty()) document["order"] = discipline;
    if (serving) {
      document["llm"] = {{"stream_tokens_per_s", serving->stream_tokens_per_s},
                         {"pipeline_tokens_per_s", serving->pipeline_tokens_per_s},
                         {"first_token_s", serving->first_token_s},
                         {"longest_context", serving->longest_context},
                         {"limited_by", serving->limited_by}};
    }
    std::printf("%s\n", JsonLine(document).c_str());
    return 0;
  }
  std::printf("%s: %d ops on %d devices, method %s\n", graph.name().c_str(), graph.num_ops(), cluster.num_devices(),
              args.method.c_str());
  if (fallback) PrintFallback(args.method, result, found, score.feasible);
  std::printf("  predicted step time  %.3f ms\n", score.makespan_us / 1e3);
  if (options.objective == Objective::kThroughput) {
    std::printf("  busiest device       %.3f ms for each step of a pipeline, %.3f ms at least\n",
                score.max_load_us / 1e3, load_bound_us / 1e3);
  }
  if (!discipline.empty()) std::printf("  order of the ops     %s\n", discipline.c_str());
  if (serving) std::printf("%s", ShownServing(*serving, "  ").c_str());
  if (task.single_device >= 0) {
    std::printf("  best single device   %.3f ms on %s", task.single_device_us / 1e3,
                cluster.devices[static_cast<size_t>(task.single_device)].name.c_str());
    // A graph of ops that cost nothing takes no time anywhere.
    if (score.makespan_us > 0) std::printf(": %.3f times as fast", task.single_device_us / score.makespan_us);
    const Placement single(static_cast<size_t>(task.sim.num_ops), task.single_device);
    std::printf("%s\n", PlacementScorer(task).Score(single).bytes_over > 0 ? ", but it does not fit that device" : "");
  } else {
    std::printf("  best single device   none may run every op\n");
  }
  if (score.feasible && lower_bound_us > 0) {
    std::printf("  lower bound          %.3f ms: at most %.0f%% from the best possible\n", lower_bound_us / 1e3,
                100 * (score.makespan_us / lower_bound_us - 1));
  }
  for (size_t d = 0; d < cluster.devices.size(); ++d) {
    const auto ops = std::count(placement.begin(), placement.end(), static_cast<DeviceIndex>(d));
    std::printf("  %-12s %6td ops, peak memory %.2f of %.2f GB%s\n", cluster.devices[d].name.c_str(), ops,
                static_cast<double>(score.peak_bytes[d]) / 1e9,
                static_cast<double>(cluster.devices[d].memory_bytes) / 1e9,
                left_bytes[d] < 0 ? "" : Format(", %.2f left", static_cast<double>(left_bytes[d]) / 1e9).c_str());
  }
  if (!score.feasible) {
    std::printf("  WARNING: it does not fit the devices' memory: it lacks %s\n",
                MissingMemory(cluster, score.peak_bytes).c_str());
  }
  std::printf("  placed in %s with %lld simulated placement%s, found by %s\n", ShownSeconds(seconds).c_str(),
              static_cast<long long>(result.evaluations), result.evaluations == 1 ? "" : "s", found_by.c_str());
  if (!args.out.empty()) std::printf("  written to %s\n", args.out.c_str());
  return 0;
}

}  // namespace

void AddPlaceCommand(CLI::App& app, std::function<int()>& run) {
  auto args = std::make_shared<PlaceArguments>();
  CLI::App* command = app.add_subcommand(
      "place", "Place one graph as well as the given time allows; never slower than the best single device");
  command->add_option("--graph", args->graph, "Graph file, *.graph.json or *.graph.json.zst")->required();
  command->add_option("--devices", args->devices, "Cluster file with the devices and links, YAML")->required();
  command->add_option(
      "--policy", args->policy,
      "Policy file, *.safetensors, or a run directory, whose best policy so far is used; none: no policy "
      "(default: the trained planner that comes with the programs). Method policy places the graph with "
      "it. Methods auto and list plan as a planner says; of another policy, auto tries its placement");
  command->add_option("--method", args->method, "Method that places the graph, one of: " + Join(MethodNames(), ", "))
      ->capture_default_str();
  AddOrderOption(*command, args->order);
  AddObjectiveOption(*command, args->objective);
  command->add_option("--out", args->out, "File to write the placement to, JSON (emplace.placement/1)");
  command->add_option("--trace", args->trace, "File to write the timeline to, for Perfetto or chrome://tracing");
  AddOwnOptions(*command, args->own);
  command
      ->add_option(
          "--seconds", args->seconds,
          "Most seconds that a searching method may take after the graph is loaded (default: 1, or any number with "
          "--budget)")
      ->check(NumberIn(1e-6, 1e6));
  command
      ->add_option(
          "--budget", args->budget,
          "Number of placements that a searching method may simulate; the result is then the same on every machine")
      ->check(CLI::Range(1, 1000000000));
  command->add_option("--threads", args->threads, "Number of threads that search (default: one for each core)")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--max-groups", args->max_groups,
                   "Upper limit of the groups into which ops are merged, 0 for every op by itself (default: as many as "
                   "the policy was trained with, or 128 without a policy)")
      ->check(CLI::Range(0, 1000000));
  command->add_option("--seed", args->seed, "Random seed of the method")->check(Seed())->capture_default_str();
  command->add_flag("--json", args->json, "Print the result as one JSON document");
  command->callback([args, &run] { run = [args] { return Place(*args); }; });
}

}  // namespace emplace
