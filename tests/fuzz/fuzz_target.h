// What a fuzz target is made of. A target feeds any bytes to one reader and breaks (crash, sanitizer, EMPLACE_CHECK, an
// exception that is not ours) where the reader does not keep its word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/error.h"

// The entry that libFuzzer calls, and replay_main.cc where there is no libFuzzer. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace emplace {

inline std::string_view InputText(const uint8_t* data, size_t size) {
  return size == 0 ? std::string_view() : std::string_view(reinterpret_cast<const char*>(data), size);
}

// What `read` gives; nullopt where it refuses the input in the one way that is allowed, by BadInput.
template <typename Read>
auto Accepted(Read read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const Error& error) {
    EMPLACE_CHECK(error.kind() == Error::Kind::kBadInput && error.what()[0] != '\0');
    return std::nullopt;
  }
}

}  // namespace emplace
