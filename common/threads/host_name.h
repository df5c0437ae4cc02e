// The host name of this machine, for log lines and errors.
#pragma once

#include <string>

namespace emplace {

std::string HostName();

}  // namespace emplace
