// Options that subcommands which place graphs have in common.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace emplace {

struct ConfigField;
struct PlacingWishes;

// The flag by which a field is set: "--max-ops" of max_ops.
std::string FlagOf(const ConfigField& field);

// --order, --objective, --max-groups, and a flag for each option that some methods alone have (OwnOptions).
void AddPlacingOptions(CLI::App& command, PlacingWishes& wishes);

}  // namespace emplace
