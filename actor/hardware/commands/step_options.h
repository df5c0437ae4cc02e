// Options that several commands have.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace emplace {

// --graph and --devices, both required. devices_more: what the help of --devices says besides.
void AddGraphAndDevices(CLI::App& command, std::string& graph, std::string& devices,
                        const std::string& devices_more = "");
// --warmup, with the number that is there as its default.
void AddWarmup(CLI::App& command, int32_t& warmup);

}  // namespace emplace
