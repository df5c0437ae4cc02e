// `emplace-hardware profile`: times the ops of a graph and the links of this computer.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

void AddProfileCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
