// The options that every program that is an actor has, and what it does with them. Include this in .cc files of
// programs only: CLI11 is a large header.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "actor/actor.h"

namespace emplace {

struct ActorArguments {
  ActorOptions options;
  std::string keys;  // File; empty: nothing is encrypted.
};

void AddActorOptions(CLI::App& app, ActorArguments& arguments);

// Runs the actor until it is told to stop or gets SIGINT or SIGTERM. Returns the exit code; throws as RunActor does,
// and at once BadInput for a name that no learner would take, for keys that cannot be read and for an address that is
// none.
int RunActorProgram(ActorArguments& arguments, RewardSource& rewards);

}  // namespace emplace
