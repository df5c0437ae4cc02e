#pragma once

#include <algorithm>

#include "common/array_bundle.h"

namespace emplace {

// Whether two bundles are equal bit for bit, so that a NaN equals itself.
inline bool SameBundle(const ArrayBundle& a, const ArrayBundle& b) {
  return std::equal(a.arrays().begin(), a.arrays().end(), b.arrays().begin(), b.arrays().end(),
                    [](const NamedArray& x, const NamedArray& y) {
                      return x.name == y.name && x.type == y.type && x.bytes == y.bytes;
                    });
}

}  // namespace emplace
