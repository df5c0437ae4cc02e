// `emplace evaluate`: graphs x methods, as a table or as JSON.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

void AddEvaluateCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
