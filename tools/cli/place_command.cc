#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "api/place_graph.h"
#include "api/placing_wishes.h"
#include "api/run_files.h"
#include "api/serving.h"
#include "api/task_inputs.h"
#include "common/command_line.h"
#include "common/error_place.h"
#include "common/files/file_io.h"
#include "common/files/output_files.h"
#include "common/strings.h"
#include "common/threads/interrupt.h"
#include "policy/policy_weights.h"
#include "simulator/engine/simulator.h"
#include "simulator/engine/trace_writer.h"
#include "simulator/graph/graph_io.h"
#include "simulator/methods/placement_method.h"
#include "tools/cli/commands.h"
#include "tools/cli/place_report.h"
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
  std::string out;
  std::string trace;
  PlacingWishes wishes;
  bool json = false;
};

void CheckPlaceFiles(const PlaceArguments& args) {
  std::vector<FileArgument> inputs = InputFiles("--policy", args.policy);
  inputs.insert(inputs.end(), {{"--graph", args.graph}, {"--devices", args.devices}});
  CheckOutputFiles({{"--out", args.out}, {"--trace", args.trace}}, inputs);
}

int Place(const PlaceArguments& args) {
  CheckPlaceFiles(args);
  MethodOptions options = OptionsOf(args.wishes, {args.method});
  if (!(options.seconds > 0) && options.budget == 0) options.seconds = kDefaultSeconds;
  const std::optional<PolicyWeights> policy = PolicyAsked(args.policy);
  const Cluster cluster = LoadCluster(args.devices);
  if (policy) UsePolicyOn(cluster, args.devices, *policy, args.policy, options);
  std::optional<SearchLine> line;
  options.progress = [&](const SearchProgress& progress) { line->Show(progress); };
  options.stop = &Interrupted();
  MakeMethod(args.method, options);  // Wrong options, before the graph is read.
  const OpGraph graph = LoadGraph(args.graph);
  WithPlace(args.graph, [&] { CheckServed(graph); });
  line.emplace();
  const PlacedGraph placed = PlaceGraph(graph, cluster,
                                        {.graph_source = args.graph,
                                         .devices_source = args.devices,
                                         .method = args.method,
                                         .max_groups = MaxGroups(args.wishes.max_groups, policy ? &*policy : nullptr),
                                         .ends_any_method = args.wishes.seconds > 0,
                                         .on_placed = FinishDespiteInterrupt},
                                        options);
  line.reset();
  const PlaceReport report(graph, cluster, args.method, options.objective, placed);
  const Placement& placement = placed.chosen.placement;
  const DeviceOrders& orders = placed.chosen.orders;
  if (!args.out.empty()) WriteFileAtomically(args.out, PlacementToJson(graph, cluster, placement, "", orders));
  if (!args.trace.empty()) {
    const SimGraph& sim = placed.task.sim;
    WriteFileAtomically(args.trace, TraceToJson(graph, cluster, sim, placement, Simulator(sim, orders).Run(placement)));
  }
  std::fputs((args.json ? report.Json() : report.Text()).c_str(), stdout);
  if (!args.json && !args.out.empty()) std::printf("  written to %s\n", args.out.c_str());
  return 0;
}

}  // namespace

void AddPlaceCommand(CLI::App& app, std::function<int()>& run) {
  auto args = std::make_shared<PlaceArguments>();
  CLI::App* command = app.add_subcommand(
      "place", "Place one graph as well as the given time allows; never worse than the best single device");
  command->add_option("--graph", args->graph, "Graph file, *.graph.json or *.graph.json.zst")->required();
  command->add_option("--devices", args->devices, "Cluster file with the devices and links, YAML")->required();
  command->add_option(
      "--policy", args->policy,
      "Policy file, *.safetensors, or a run directory, whose best policy so far is used; none: no policy "
      "(default: the trained planner that comes with the programs). Method policy places the graph with "
      "it. Methods auto and list plan as a planner says; of another policy, auto tries its placement");
  command->add_option("--method", args->method, "Method that places the graph, one of: " + Join(MethodNames(), ", "))
      ->capture_default_str();
  command->add_option("--out", args->out, "File to write the placement to, JSON (emplace.placement/1)")
      ->check(NotEmpty());
  command->add_option("--trace", args->trace, "File to write the timeline to, for Perfetto or chrome://tracing")
      ->check(NotEmpty());
  AddPlacingOptions(*command, args->wishes);
  command
      ->add_option(
          "--seconds", args->wishes.seconds,
          "Most seconds that the method may take after the graph is loaded (default: any number with --budget and for "
          "methods that do not search, else 1); one that has no placement by then gives way to the best single device")
      ->check(NumberIn(1e-6, 1e6));
  command
      ->add_option(
          "--budget", args->wishes.budget,
          "Number of placements that a searching method may simulate; the result is then the same on every machine")
      ->check(CLI::Range(1, 1000000000));
  command->add_option("--threads", args->wishes.threads, "Number of threads that search (default: one for each core)")
      ->check(CLI::Range(1, kMostThreads));
  command->add_option("--seed", args->wishes.seed, "Random seed of the method")->check(Seed())->capture_default_str();
  command->add_flag("--json", args->json, "Print the result as one JSON document");
  command->callback([args, &run] { run = [args] { return Place(*args); }; });
}

}  // namespace emplace
