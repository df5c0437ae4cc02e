// Tells contents apart.
#pragma once

#include <string>
#include <string_view>

namespace emplace {

// 16 digits: the XXH3-64 hash of the bytes.
std::string ContentHash(std::string_view bytes);

}  // namespace emplace
