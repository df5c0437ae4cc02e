// How often a property test draws.
#pragma once

#include <algorithm>
#include <cstdint>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define EMPLACE_SANITIZED 1
#endif
#endif

namespace emplace {

// `count` random inputs, and an eighth of them under a sanitizer, where each takes some thirty times as long: there it
// is the kinds of inputs that count, and every build without a sanitizer looks at all of them.
constexpr uint64_t Trials(uint64_t count) {
#ifdef EMPLACE_SANITIZED
  return std::max<uint64_t>(1, count / 8);
#else
  return count;
#endif
}

}  // namespace emplace
