// Options that subcommands which place graphs have in common.
#pragma once

#include <map>
#include <string>

namespace CLI {
class App;
}

namespace emplace {

// --order: one of OrderNames (disciplines.h) or kNoOrder, as AskForOrder (place_graph.h) takes it.
void AddOrderOption(CLI::App& command, std::string& order);
// A flag for each option that some methods alone have (OwnOptions), whose values SetOwnOptions takes.
void AddOwnOptions(CLI::App& command, std::map<std::string, std::string>& values);
// --objective: one of ObjectiveNames (placement_method.h).
void AddObjectiveOption(CLI::App& command, std::string& objective);

}  // namespace emplace
