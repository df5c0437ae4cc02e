// Options that subcommands which place graphs have in common.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace emplace {

// --order: one of OrderNames (disciplines.h) or kNoOrder, as OrderAsked (place_graph.h) takes it.
void AddOrderOption(CLI::App& command, std::string& order);
// --objective: one of ObjectiveNames (placement_method.h).
void AddObjectiveOption(CLI::App& command, std::string& objective);

}  // namespace emplace
