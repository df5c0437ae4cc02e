// `emplace config`: the keys of a run's configuration, or a configuration with all of its values.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

void AddConfigCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
