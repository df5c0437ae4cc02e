// Counts every call of operator new in the test binary, for tests that a hot path does not allocate. Linking the source
// replaces the global operators, so it belongs to the tests that need it, and not to the support library.
#pragma once

#include <cstdint>

namespace emplace {

int64_t AllocationsSoFar();  // Number of calls since the program started.

}  // namespace emplace
