// The order in which the transfers of one finished op are requested: by the first consumer that each serves, then by
// tensor. Transfers of a lower tensor have lower numbers.
#pragma once

#include <compare>
#include <cstdint>

namespace emplace {

struct Outgoing {
  int32_t first_consumer;
  int32_t transfer;

  auto operator<=>(const Outgoing&) const = default;
};

}  // namespace emplace
