#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>

#include "api/task_inputs.h"
#include "common/command_line.h"
#include "common/files/file_io.h"
#include "common/strings.h"
#include "simulator/families/family.h"
#include "simulator/families/program/device_kind.h"
#include "simulator/graph/graph_io.h"
#include "tools/cli/commands.h"

namespace emplace {
namespace {

struct GenerateArguments {
  FamilyOptions options;
  std::string out;
  std::string kinds;
  bool count_given = false;
};

// The share of the paper's split: 20 of 32.
int64_t DefaultTrain(int64_t count) { return std::llround(static_cast<double>(count) * 20 / 32); }

void PrintRow(const OpGraph& graph, const std::vector<DeviceKind>& kinds) {
  double flops = 0;
  std::vector<double> cost_us(kinds.size());
  for (const Op& op : graph.ops()) {
    flops += op.flops;
    for (size_t k = 0; k < kinds.size(); ++k) cost_us[k] += op.cost.On(kinds[k].name).value_or(0);
  }
  std::printf("%-20s %7d %10.1f %12.1f", graph.name().c_str(), graph.num_ops(), flops / 1e9,
              static_cast<double>(graph.ParameterBytes()) / 1e6);
  for (const double us : cost_us) std::printf(" %10.1f", us / 1e3);
  std::printf("\n");
}

// Graphs that were there before, as of a larger set: commands that are given the folder read them, too.
void PrintOthers(const std::filesystem::path& folder, const Family& family) {
  std::set<std::string> others;
  for (const std::filesystem::path& path : FindGraphs({folder.string()})) others.insert(path.filename().string());
  for (const OpGraph& graph : family.graphs) others.erase(graph.name() + ".graph.json");
  if (others.empty()) return;
  std::printf("note: %s also has %zu other graph%s, such as %s\n", folder.c_str(), others.size(),
              others.size() == 1 ? "" : "s", others.begin()->c_str());
}

int Generate(GenerateArguments args) {
  const std::vector<DeviceKind> kinds =
      LoadDeviceKinds(args.kinds.empty() ? DefaultKindsFolder() : std::filesystem::path(args.kinds));
  if (!args.count_given && IsSingleNetwork(args.options.family)) args.options.count = 1;
  args.options.train = DefaultTrain(args.options.count);
  const Family family = GenerateFamily(args.options, kinds);
  MakeFolder(args.out);
  std::printf("%-20s %7s %10s %12s", "graph", "ops", "GFLOP", "param MB");
  for (const DeviceKind& kind : kinds) std::printf(" %7s ms", kind.name.c_str());
  std::printf("\n");
  for (const OpGraph& graph : family.graphs) {
    WriteFileAtomically(std::filesystem::path(args.out) / (graph.name() + ".graph.json"), GraphToJson(graph));
    PrintRow(graph, kinds);
  }
  WriteFileAtomically(std::filesystem::path(args.out) / "split.json", SplitToJson(args.options, family));
  std::printf("%zu graph%s in %s, %zu for training and %zu for testing (split.json)\n", family.graphs.size(),
              family.graphs.size() == 1 ? "" : "s", args.out.c_str(), family.train.size(), family.test.size());
  PrintOthers(args.out, family);
  return 0;
}

}  // namespace

void AddGenerateCommand(CLI::App& app, std::function<int()>& run) {
  auto args = std::make_shared<GenerateArguments>();
  CLI::App* command = app.add_subcommand("generate", "Generate the graphs of a family, or of a single network");
  AddInstancesCommand(*command, run);
  CLI::Option* const family = command->add_option(
      "family", args->options.family, "Name of the family or single network, one of: " + Join(FamilyNames(), ", "));
  CLI::Option* const out =
      command->add_option("--out", args->out, "Folder to write the graphs to; made if it is missing");
  CLI::Option* const count =
      command
          ->add_option("--count", args->options.count, "Number of graphs to generate (default for a single network: 1)")
          ->check(CLI::Range(1, 10000))
          ->capture_default_str();
  command->add_option("--seed", args->options.seed, "Random seed from which the graphs are generated")
      ->check(Seed())
      ->capture_default_str();
  command->add_option("--size", args->options.size, "Size of the networks, full or small (for quick tests)")
      ->capture_default_str();
  command
      ->add_option("--range", args->options.ranges,
                   "Range from which each graph draws one of its sizes, such as steps=10..20; may be repeated")
      ->take_all();
  command->add_option("--dtype", args->options.dtype, "Number type of parameters and activations, f32 or f16")
      ->capture_default_str();
  command
      ->add_option(
          "--microbatches", args->options.microbatches,
          "Number of micro-batches: each is a copy of forward and backward pass with a part of the batch, their "
          "gradients are added up, and each parameter has one update")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_flag("--calls", args->options.calls, "Give the ops the calls by which emplace-hardware can run them");
  command->add_option("--kinds", args->kinds,
                      "Folder with the device kinds on which each op gets a cost (default: configs/devices)");
  command->callback([args, command, family, out, count, &run] {
    if (!command->get_subcommands().empty()) {
      for (const CLI::Option* const option : command->get_options()) {
        if (option->count() > 0) {
          throw CLI::ValidationError(option->get_name(),
                                     "is given before 'instances', which has options of its own behind it");
        }
      }
      return;
    }
    for (const CLI::Option* const needed : {family, out}) {
      if (needed->count() == 0) throw CLI::RequiredError(needed->get_name());
    }
    args->count_given = count->count() > 0;
    run = [args] { return Generate(*args); };
  });
}

}  // namespace emplace
