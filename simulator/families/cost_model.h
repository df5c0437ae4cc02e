// What an op costs on a kind of device: a first roofline model (Williams et al. 2009), the larger of FLOPs over the
// attainable rate and bytes over the attainable bandwidth, plus the time of a launch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace emplace {

struct DeviceKind {
  std::string name;               // "k80"
  double peak_gflops = 0;         // float32
  double compute_efficiency = 1;  // Share of the peak that large matrix products reach, 0..1
  double memory_gb_per_s = 0;
  double memory_efficiency = 1;  // Share of the bandwidth that streaming reaches, 0..1
  double launch_us = 0;
};

// Throws BadInput "path:line:col: ...".
DeviceKind LoadDeviceKind(const std::filesystem::path& path);
// All *.yaml of a folder, by name. Throws BadInput when there is none.
std::vector<DeviceKind> LoadDeviceKinds(const std::filesystem::path& folder);
// $EMPLACE_CONFIG_DIR/devices, or the folder of the source tree that this was built from.
std::filesystem::path DefaultKindsFolder();

// Microseconds, to the nanosecond.
double CostUs(const DeviceKind& kind, double flops, int64_t bytes);

}  // namespace emplace
