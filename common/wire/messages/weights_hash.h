// Tells weights that arrived whole from others.
#pragma once

#include <cstdint>
#include <string_view>

namespace emplace {

// The XXH3-64 hash of the bytes, as in WeightsReply::hash.
uint64_t WeightsHash(std::string_view blob);

}  // namespace emplace
