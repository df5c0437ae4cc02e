// `emplace costs`: replaces the costs of ops in graphs by measured ones.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

void AddCostsCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
