// `emplace simulate`: simulates one step of a placed graph and prints its makespan.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

void AddSimulateCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
