// Tells contents apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace emplace {

// The XXH3-64 hash of the bytes.
uint64_t Hash64(std::string_view bytes);
// Hash64 as 16 hexadecimal digits.
std::string ContentHash(std::string_view bytes);

}  // namespace emplace
