// `emplace keygen`: makes the keys that encrypt a run.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

void AddKeygenCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
