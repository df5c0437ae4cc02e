// `emplace-hardware place`: searches for a placement by measured steps.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

void AddPlaceCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
