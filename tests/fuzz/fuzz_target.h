// Parts that all fuzz targets use. A target gives arbitrary bytes to one reader. It fails (by a crash, a sanitizer, an
// EMPLACE_CHECK or an exception that is no emplace::Error) when the reader does not behave as it should.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/error.h"

// The function of a target that libFuzzer calls, or replay_main.cc where there is no libFuzzer. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace emplace {

inline std::string_view InputText(const uint8_t* data, size_t size) {
  return size == 0 ? std::string_view() : std::string_view(reinterpret_cast<const char*>(data), size);
}

// Returns the result of `read`; nullopt: it refused the input by BadInput, the only error that is allowed.
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
