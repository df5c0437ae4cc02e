// The subcommands of `emplace-hardware`. Each function adds one, with its options, to the parser, and sets `run` once
// the command line names it: to what the command does, which returns the program's exit code and throws Error.
// REQUIRES: `run` outlives the parser.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

// An actor whose rewards are measured on the devices of this computer.
void AddActorCommand(CLI::App& app, std::function<int()>& run);
// The process in which an actor has steps run and timed (measuring_command.h). Help does not show it.
void AddMeasureCommand(CLI::App& app, std::function<int()>& run);
// Searches for a placement by measured steps.
void AddPlaceCommand(CLI::App& app, std::function<int()>& run);
// Times the ops of a graph and the links of this computer.
void AddProfileCommand(CLI::App& app, std::function<int()>& run);
// Runs a placed graph on this computer, and prints its step time beside the simulated one.
void AddRunCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
