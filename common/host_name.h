// The name of this machine, for messages that say where something is.
#pragma once

#include <string>

namespace emplace {

std::string HostName();

}  // namespace emplace
