#include "common/files/content_hash.h"

#include <xxhash.h>

#include "common/strings.h"

namespace emplace {

std::string ContentHash(std::string_view bytes) {
  return Format("%016llx", static_cast<unsigned long long>(XXH3_64bits(bytes.data(), bytes.size())));
}

}  // namespace emplace
