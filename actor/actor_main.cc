// emplace-actor: rolls out placement episodes for a learner. The learner sends everything else that an actor needs.
#include <malloc.h>

#include <optional>

#include "actor/actor_options.h"
#include "actor/reward_source.h"
#include "common/command_line.h"
#include "common/error.h"

namespace {

int Run(int argc, char** argv) {
  emplace::ActorArguments arguments;
  CLI::App app("Rolls out placement episodes for a learner, which sends the configuration, the graphs and the policy.",
               "emplace-actor");
  emplace::AddActorOptions(app, arguments);
  if (const std::optional<int> exit_code = emplace::ParseCommandLine(app, argc, argv)) return *exit_code;
  // Threads mostly wait: a heap each would only cost memory.
  mallopt(M_ARENA_MAX, 1);
  emplace::SimulatedRewards rewards;
  return emplace::RunActorProgram(arguments, rewards);
}

}  // namespace

int main(int argc, char** argv) {
  return emplace::RunMain("emplace-actor", [&] { return Run(argc, argv); });
}
