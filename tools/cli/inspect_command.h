// `emplace inspect`: describes any file or folder of Emplace.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

void AddInspectCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
