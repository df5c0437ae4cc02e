// `emplace import`: measured costs in place of those that graphs came with.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

void AddImportCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
