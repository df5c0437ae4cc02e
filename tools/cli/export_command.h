// `emplace export`: copies the best policy and the best placements found so far out of a run directory, also while the
// run goes on.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

void AddExportCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
