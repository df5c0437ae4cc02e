// Counts every operator new of the test binary: for tests that a hot path does not allocate. Linking this file replaces
// the global operators, so it is a source of the tests that need it, not of the support library.
#pragma once

#include <cstdint>

namespace emplace {

int64_t AllocationsSoFar();

}  // namespace emplace
