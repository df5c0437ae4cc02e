// `emplace place`: places one graph and writes the placement.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

void AddPlaceCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
