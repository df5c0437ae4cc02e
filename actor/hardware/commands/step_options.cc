#include "actor/hardware/commands/step_options.h"

#include <CLI/CLI.hpp>

namespace emplace {

void AddGraphAndDevices(CLI::App& command, std::string& graph, std::string& devices, const std::string& devices_more) {
  command.add_option("--graph", graph, "Graph file whose ops have calls, *.graph.json or *.graph.json.zst")->required();
  command
      .add_option("--devices", devices,
                  "Cluster file with this computer's devices, YAML. A device is called cpu:i, and says which cores it "
                  "has, or cuda:i" +
                      devices_more)
      ->required();
}

void AddWarmup(CLI::App& command, int32_t& warmup) {
  command.add_option("--warmup", warmup, "Number of steps that run before the timed ones")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
}

}  // namespace emplace
