#include "common/files/content_hash.h"

#include <xxhash.h>

#include "common/strings.h"

namespace emplace {

uint64_t Hash64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string ContentHash(std::string_view bytes) {
  return Format("%016llx", static_cast<unsigned long long>(Hash64(bytes)));
}

}  // namespace emplace
