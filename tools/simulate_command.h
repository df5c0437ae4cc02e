// `emplace simulate`: runs one placement in simulated time.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

void AddSimulateCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
