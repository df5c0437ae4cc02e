// A change of a placement that a search may try.
#pragma once

#include <vector>

#include "common/ids.h"

namespace emplace {

struct OpMove {
  OpIndex op;
  DeviceIndex device;  // Where the op goes.
};
using Move = std::vector<OpMove>;  // Each op at most once.

}  // namespace emplace
