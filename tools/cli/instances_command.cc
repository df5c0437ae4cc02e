#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "common/command_line.h"
#include "common/files/file_io.h"
#include "common/strings.h"
#include "simulator/graph/graph_io.h"
#include "simulator/instances/instance_source.h"
#include "tools/cli/commands.h"
#include "tools/cli/placing_options.h"

namespace emplace {
namespace {

struct InstancesArguments {
  std::string part = "train";
  std::string out;
  uint64_t count = 10;
  uint64_t first = 0;
  uint64_t seed = 1;
  std::map<std::string, std::string> limits;  // Fields of InstanceConfig that are given.
};

InstanceConfig ConfigOf(const InstancesArguments& args) {
  InstanceConfig config;
  const FieldTable<InstanceConfig> table = InstanceFields();
  for (const ConfigField& field : table.fields()) {
    const auto given = args.limits.find(field.name);
    if (given != args.limits.end()) field.set(&config, field.Parse(given->second, field.get(&config)));
  }
  return config;
}

int GenerateInstances(const InstancesArguments& args) {
  const InstanceSource source(ConfigOf(args), InstancePartNamed(args.part), args.seed);
  const std::filesystem::path folder = args.out;
  MakeFolder(folder);
  std::printf("%-40s %7s %7s %5s  %s\n", "instance", "ops", "devices", "kinds", "links");
  for (uint64_t number = args.first; number < args.first + args.count; ++number) {
    const Instance instance = source.Make(number);
    WriteFileAtomically(folder / (instance.name + ".graph.json"), GraphToJson(instance.graph));
    WriteFileAtomically(folder / (instance.name + ".devices.yaml"), ClusterToYaml(instance.cluster));
    std::string last_kind;
    for (const Device& device : instance.cluster.devices) last_kind = std::max(last_kind, device.kind);
    std::printf("%-40s %7d %7d %5d  %s\n", instance.name.c_str(), instance.graph.num_ops(),
                instance.cluster.num_devices(), last_kind.front() - 'a' + 1,
                LinkModelName(instance.cluster.link_model).c_str());
  }
  std::printf("%llu graphs (NAME.graph.json) and their machines (NAME.devices.yaml) in %s\n",
              static_cast<unsigned long long>(args.count), args.out.c_str());
  return 0;
}

}  // namespace

void AddInstancesCommand(CLI::App& generate, std::function<int()>& run) {
  auto args = std::make_shared<InstancesArguments>();
  CLI::App* command = generate.add_subcommand(
      "instances", "Generate placement problems: graphs of many kinds, each with a machine (simulator/instances)");
  command->add_option("--out", args->out, "Folder to write the graphs and machines to; made if it is missing")
      ->required();
  command
      ->add_option("--part", args->part,
                   "Part whose generators are used: train, validation or test; they have none in common")
      ->capture_default_str();
  command->add_option("--count", args->count, "Number of instances to generate")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--first", args->first, "Number of the first instance")
      ->check(CLI::Range(0, 1000000000))
      ->capture_default_str();
  command->add_option("--seed", args->seed, "Random seed from which the instances are generated")
      ->check(Seed())
      ->capture_default_str();
  const InstanceConfig defaults;
  for (const FieldTable<InstanceConfig> table = InstanceFields(); const ConfigField& field : table.fields()) {
    const std::string name = field.name;
    const auto set = [args, name](const std::string& text) { args->limits[name] = text; };
    command->add_option_function<std::string>(FlagOf(field), set, field.help)
        ->default_str(TextOf(field.get(&defaults)));
  }
  command->callback([args, &run] { run = [args] { return GenerateInstances(*args); }; });
}

}  // namespace emplace
