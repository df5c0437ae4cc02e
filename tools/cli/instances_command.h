// `emplace generate instances`: writes placement problems, each a graph and a machine.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

void AddInstancesCommand(CLI::App& generate, std::function<int()>& run);

}  // namespace emplace
