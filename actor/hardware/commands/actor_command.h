// `emplace-hardware actor`: an actor whose rewards are measured on the devices of this computer.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

void AddActorCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
