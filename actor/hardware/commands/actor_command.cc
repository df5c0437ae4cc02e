#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "actor/actor_options.h"
#include "actor/hardware/commands/commands.h"
#include "actor/hardware/commands/measuring_command.h"
#include "actor/hardware/executor.h"
#include "actor/hardware/measuring/measured_rewards.h"
#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

// The measuring process looks for the devices, too, but it starts only when a learner has answered.
Cluster LoadDevicesOfThisComputer(const std::string& path) {
  Cluster cluster = LoadCluster(path);
  try {
    FindDevicesHere(cluster);
  } catch (const Error& error) {
    throw Error(error.kind(), StrCat(path, ": ", error.what()));
  }
  return cluster;
}

}  // namespace

void AddActorCommand(CLI::App& app, std::function<int()>& run) {
  auto args = std::make_shared<ActorArguments>();
  auto devices = std::make_shared<std::string>();
  CLI::App* const command = app.add_subcommand(
      "actor", "Plays placement episodes for a learner, with rewards measured on this computer's devices");
  AddActorOptions(*command, *args);
  command->add_option("--devices", *devices,
                      "Cluster file, YAML, with this computer's devices in the order of the learner's; needed where "
                      "their names or cores differ from those in the learner's file");
  command->callback([args, devices, &run] {
    run = [args, devices] {
      std::optional<Cluster> machine;
      if (!devices->empty()) machine = LoadDevicesOfThisComputer(*devices);
      MeasuredRewards rewards(MeasureCommandLine(), std::move(machine));
      return RunActorProgram(*args, rewards);
    };
  });
}

}  // namespace emplace
