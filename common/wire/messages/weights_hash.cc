#include "common/wire/messages/weights_hash.h"

#include <xxhash.h>

namespace emplace {

uint64_t WeightsHash(std::string_view blob) { return XXH3_64bits(blob.data(), blob.size()); }

}  // namespace emplace
