// `emplace inspect`: says what any of our files or folders is.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

void AddInspectCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
