#include "tools/place_command.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/file_io.h"
#include "common/strings.h"
#include "simulator/graph_io.h"
#include "simulator/methods/placement_method.h"
#include "simulator/simulator.h"
#include "simulator/trace_writer.h"
#include "tools/task_inputs.h"

namespace emplace {
namespace {

struct PlaceArguments {
  std::string graph;
  std::string devices;
  std::string policy;
  std::string method = "policy";
  std::string out;
  std::string trace;
  int32_t samples = 0;
  int64_t budget = 100;
  int64_t max_groups = 0;
  uint64_t seed = 1;
  bool json = false;
};

int Place(const PlaceArguments& args) {
  MethodOptions options;
  options.budget = args.budget;
  options.seed = args.seed;
  options.samples = args.samples;
  if (!args.policy.empty()) options.policy = LoadPolicy(args.policy);
  const Cluster cluster = LoadCluster(args.devices);
  if (options.policy) CheckPolicyFits(*options.policy, args.policy, cluster, args.devices);
  const std::unique_ptr<PlacementMethod> method = MakeMethod(args.method, options);
  const OpGraph graph = LoadGraph(args.graph);
  CheckKinds(graph, cluster);
  const PlacementTask task = PlacementTask::Make(graph, cluster, MaxGroups(args.max_groups, options.policy));

  const auto begin = std::chrono::steady_clock::now();
  const MethodResult result = method->Place(task);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!result.placement) {
    throw RunFailed(StrCat(args.graph, ": method '", args.method, "' found no legal placement on ", args.devices));
  }
  const MethodScore score = Score(task, result);

  if (!args.out.empty()) WriteFileAtomically(args.out, PlacementToJson(graph, cluster, *result.placement));
  if (!args.trace.empty()) {
    Simulator simulator(task.sim);
    WriteFileAtomically(args.trace,
                        TraceToJson(graph, cluster, task.sim, *result.placement, simulator.Run(*result.placement)));
  }

  if (args.json) {
    const nlohmann::ordered_json document = {{"graph", graph.name()},
                                             {"method", args.method},
                                             {"makespan_us", score.makespan_us},
                                             {"single_device_us", task.single_device_us},
                                             {"peak_bytes", score.peak_bytes},
                                             {"feasible", score.feasible},
                                             {"groups", task.policy.num_nodes},
                                             {"evaluations", result.evaluations},
                                             {"seconds", seconds}};
    std::printf("%s\n", document.dump().c_str());
    return 0;
  }
  std::printf("%s: %d ops in %d groups on %d devices, method %s\n", graph.name().c_str(), graph.num_ops(),
              task.policy.num_nodes, cluster.num_devices(), args.method.c_str());
  std::printf("  predicted step time  %.3f ms\n", score.makespan_us / 1e3);
  if (task.single_device >= 0) {
    std::printf("  best single device   %.3f ms on %s: %.3f times as fast\n", task.single_device_us / 1e3,
                cluster.devices[static_cast<size_t>(task.single_device)].name.c_str(),
                task.single_device_us / score.makespan_us);
  } else {
    std::printf("  best single device   none may run every op\n");
  }
  for (size_t d = 0; d < cluster.devices.size(); ++d) {
    const auto ops = std::count(result.placement->begin(), result.placement->end(), static_cast<DeviceIndex>(d));
    std::printf("  %-12s %6td ops, peak memory %.2f of %.2f GB\n", cluster.devices[d].name.c_str(), ops,
                static_cast<double>(score.peak_bytes[d]) / 1e9,
                static_cast<double>(cluster.devices[d].memory_bytes) / 1e9);
  }
  if (!score.feasible) std::printf("  WARNING: it does not fit the devices' memory\n");
  std::printf("  placed in %.2f s with %lld simulated placements\n", seconds,
              static_cast<long long>(result.evaluations));
  if (!args.out.empty()) std::printf("  written to %s\n", args.out.c_str());
  return 0;
}

}  // namespace

void AddPlaceCommand(CLI::App& app, std::function<int()>& run) {
  auto args = std::make_shared<PlaceArguments>();
  CLI::App* command =
      app.add_subcommand("place", "Place one graph, with a trained policy unless --method says otherwise");
  command->add_option("--graph", args->graph, "Graph, *.graph.json[.zst]")->required();
  command->add_option("--devices", args->devices, "Devices, YAML")->required();
  command->add_option("--policy", args->policy, "Policy, RUN_DIR/policy.safetensors");
  command->add_option("--method", args->method, "One of: " + Join(MethodNames(), ", "))->capture_default_str();
  command->add_option("--out", args->out, "Where to write the placement (emplace.placement/1)");
  command->add_option("--trace", args->trace, "Where to write a timeline for Perfetto or chrome://tracing");
  command->add_option("--samples", args->samples, "Sampled episodes beside the greedy one; the best is kept")
      ->check(CLI::Range(0, 1000000));
  command->add_option("--budget", args->budget, "Placements that a searching method may try")
      ->check(CLI::Range(1, 1000000000))
      ->capture_default_str();
  command
      ->add_option("--max-groups", args->max_groups, "Groups to decide on; default: as the policy was trained, or 128")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--seed", args->seed, "Of everything random")->capture_default_str();
  command->add_flag("--json", args->json, "Print one JSON document");
  command->callback([args, &run] { run = [args] { return Place(*args); }; });
}

}  // namespace emplace
