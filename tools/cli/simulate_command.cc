#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "common/command_line.h"
#include "common/error_place.h"
#include "common/files/file_io.h"
#include "common/files/json_text.h"
#include "common/files/output_files.h"
#include "common/strings.h"
#include "simulator/engine/simulator.h"
#include "simulator/engine/trace_writer.h"
#include "simulator/graph/graph_io.h"
#include "simulator/graph/placement.h"
#include "tools/cli/commands.h"

namespace emplace {
namespace {

struct SimulateArguments {
  std::string graph;
  std::string devices;
  std::string placement;
  std::string trace;
  bool json = false;
};

void PrintSummary(const OpGraph& graph, const Cluster& cluster, const SimGraph& sim, const Placement& placement,
                  const Timeline& timeline) {
  std::printf("%s: %d ops on %d devices\n", graph.name().c_str(), graph.num_ops(), cluster.num_devices());
  std::printf("  step time %.3f ms, %zu transfers\n", timeline.makespan_us / 1e3, timeline.transfers.size());
  std::printf("  %-12s %8s %8s %12s %22s\n", "device", "ops", "busy", "sent MB", "peak memory GB");
  for (size_t d = 0; d < cluster.devices.size(); ++d) {
    int64_t ops = 0;
    double busy_us = 0;
    double sent_bytes = 0;
    for (size_t o = 0; o < placement.size(); ++o) {
      if (static_cast<size_t>(placement[o]) != d) continue;
      ++ops;
      busy_us += timeline.finish_us[o] - timeline.start_us[o];
    }
    for (const Transfer& transfer : timeline.transfers) {
      if (static_cast<size_t>(transfer.from) != d) continue;
      sent_bytes += static_cast<double>(sim.tensor_bytes[static_cast<size_t>(transfer.tensor)]);
    }
    const double busy = timeline.makespan_us > 0 ? 100 * busy_us / timeline.makespan_us : 0;
    std::printf("  %-12s %8lld %7.1f%% %12.2f %10.2f of %8.2f%s\n", cluster.devices[d].name.c_str(),
                static_cast<long long>(ops), busy, sent_bytes / 1e6, static_cast<double>(timeline.peak_bytes[d]) / 1e9,
                static_cast<double>(cluster.devices[d].memory_bytes) / 1e9,
                timeline.peak_bytes[d] > cluster.devices[d].memory_bytes ? "  DOES NOT FIT" : "");
  }
}

int Simulate(const SimulateArguments& args) {
  CheckOutputFiles({{"--trace", args.trace}},
                   {{"--graph", args.graph}, {"--devices", args.devices}, {"--placement", args.placement}});
  const OpGraph graph = LoadGraph(args.graph);
  const Cluster cluster = LoadCluster(args.devices);
  const auto [placement, orders] = LoadOrderedPlacement(args.placement, graph, cluster);
  const SimGraph sim =
      WithPlace(StrCat(args.graph, " on ", args.devices), [&] { return SimGraph::Compile(graph, cluster); });
  Simulator simulator(sim, orders);
  const Timeline& timeline = simulator.Run(placement);
  if (!args.trace.empty()) WriteFileAtomically(args.trace, TraceToJson(graph, cluster, sim, placement, timeline));
  if (args.json) {
    const nlohmann::ordered_json document = {{"makespan_us", timeline.makespan_us},
                                             {"peak_bytes", timeline.peak_bytes},
                                             {"start_us", timeline.start_us},
                                             {"finish_us", timeline.finish_us}};
    std::printf("%s\n", JsonLine(document).c_str());
  } else {
    PrintSummary(graph, cluster, sim, placement, timeline);
  }
  return 0;
}

}  // namespace

void AddSimulateCommand(CLI::App& app, std::function<int()>& run) {
  auto args = std::make_shared<SimulateArguments>();
  CLI::App* command =
      app.add_subcommand("simulate", "Simulate one training step of a placed graph and print its makespan");
  command->add_option("--graph", args->graph, "Graph file, *.graph.json or *.graph.json.zst")->required();
  command->add_option("--devices", args->devices, "Cluster file with the devices and links, YAML")->required();
  command
      ->add_option("--placement", args->placement,
                   "Placement file, JSON: of format emplace.placement/1, or an array with a device index for each op")
      ->required();
  command->add_option("--trace", args->trace, "File to write the timeline to, for Perfetto or chrome://tracing")
      ->check(NotEmpty());
  command->add_flag("--json", args->json, "Print the result as one JSON document");
  command->callback([args, &run] { run = [args] { return Simulate(*args); }; });
}

}  // namespace emplace
