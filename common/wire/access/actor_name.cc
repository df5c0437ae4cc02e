#include "common/wire/access/actor_name.h"

#include <algorithm>

#include "common/strings.h"

namespace emplace {
namespace {

constexpr size_t kMaxActorNameBytes = 300;  // A name in DNS has at most 253.

}  // namespace

bool IsActorName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxActorNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
}

std::string ActorNameRule() {
  return StrCat("1 to ", kMaxActorNameBytes, " printable ASCII characters without spaces");
}

}  // namespace emplace
