// Machines: devices of one to four kinds, and every model of links that a devices file knows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/rng.h"
#include "simulator/machine/cluster.h"

namespace emplace {

struct RandomMachine {
  // The kinds of its devices are KindName(0), KindName(1), ...; each kind has a device. memory_bytes: relative; the
  // devices of a kind have 1, 2 or 4 times kMemoryUnit.
  Cluster cluster;
  std::vector<double> speeds;  // [kinds] relative
};
inline constexpr int64_t kMemoryUnit = int64_t{1} << 40;

std::string KindName(size_t kind);  // "a", "b", ...

RandomMachine DrawMachine(Rng& rng, int32_t min_devices, int32_t max_devices);

// The mean over all ordered pairs of devices of the time that a byte takes. REQUIRES: at least two devices.
double MeanUsPerByte(const Cluster& cluster);

}  // namespace emplace
