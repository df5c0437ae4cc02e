// Options that subcommands which place graphs have in common.
#pragma once

namespace CLI {
class App;
}

namespace emplace {

struct PlacingWishes;

// --order, --objective, --max-groups, and a flag for each option that some methods alone have (OwnOptions).
void AddPlacingOptions(CLI::App& command, PlacingWishes& wishes);

}  // namespace emplace
