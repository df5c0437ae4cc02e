// `emplace report`: writes one HTML page about runs, evaluations and a placed graph.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

void AddReportCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
