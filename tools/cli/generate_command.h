// `emplace generate`: writes the graphs of a family, or of a single network.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

void AddGenerateCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
