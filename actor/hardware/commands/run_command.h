// `emplace-hardware run`: runs a placed graph on this computer, and prints its step time beside the simulated one.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

void AddRunCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
