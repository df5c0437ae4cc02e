// The number of random inputs of a property test.
#pragma once

#include <algorithm>
#include <cstdint>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define EMPLACE_SANITIZED 1
#endif
#endif

namespace emplace {

// Whether a sanitizer watches the test, under which an input takes some thirty times as long.
#ifdef EMPLACE_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// `count`, or an eighth of it under a sanitizer. Builds without a sanitizer check all inputs.
constexpr uint64_t Trials(uint64_t count) { return kSanitized ? std::max<uint64_t>(1, count / 8) : count; }

}  // namespace emplace
