// Kinds of devices, and reading them from configs/devices/*.yaml.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "simulator/families/program/op_table.h"

namespace emplace {

// The shares of a device's peak rates that ops of a class attain.
struct ClassEfficiency {
  double compute = 1;          // Share of the peak rate that large ops reach, 0..1
  double memory = 1;           // Share of the memory bandwidth, 0..1
  double half_rate_mflop = 0;  // An op of this size reaches half of that rate: r(f) = compute * peak * f / (f + half)
  double exposed = 0;          // Share of the shorter of computing and moving that the longer one does not hide, 0..1
};

struct DeviceKind {
  std::string name;         // "k80"
  double memory_bytes = 0;  // Memory of one device; a cluster file says how much of it a run may use.
  double peak_gflops_f32 = 0;
  double peak_gflops_f16 = 0;
  double memory_gb_per_s = 0;
  double launch_us = 0;
  std::array<ClassEfficiency, kNumOpClasses> efficiency;  // By OpClass; kResident is unused.
};

// Reads one file, of one kind or of several that share their launch_us and efficiency. Throws BadInput
// "path:line:col: ...".
std::vector<DeviceKind> LoadKindsOfFile(const std::filesystem::path& path);
// Reads all *.yaml files of a folder, in the order of the kinds' names. Throws BadInput when there is none, and for a
// kind that is there twice.
std::vector<DeviceKind> LoadDeviceKinds(const std::filesystem::path& folder);
// The folder `devices` of the configurations that come with the programs (ShippedFolder; $EMPLACE_CONFIG_DIR overrides
// it). Throws BadInput when there is none.
std::filesystem::path DefaultKindsFolder();

}  // namespace emplace
