#include "simulator/families/program/device_kind.h"

#include <iterator>
#include <map>
#include <set>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/shipped_files.h"
#include "common/strings.h"
#include "simulator/machine/yaml_reader.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

constexpr const char* kClassNames[] = {"matmul", "convolution", "depthwise", "elementwise", "reduction", "gather"};
static_assert(std::size(kClassNames) + 1 == kNumOpClasses);  // All but kResident.

// What kinds of one file may share: launch_us and efficiency.
DeviceKind ReadShared(const YamlReader& reader, const YAML::Node& root) {
  DeviceKind kind;
  kind.launch_us = reader.Positive(root, "launch_us");
  const YAML::Node classes = reader.Member(root, "efficiency", "a map");
  reader.CheckMap(classes, "efficiency", {std::begin(kClassNames), std::end(kClassNames)});
  for (size_t i = 0; i < std::size(kClassNames); ++i) {
    const YAML::Node entry = reader.Member(classes, kClassNames[i], "a map");
    reader.CheckMap(entry, kClassNames[i], {"compute", "memory", "half_rate_mflop", "exposed"});
    kind.efficiency[i + 1] = {.compute = reader.PositiveShare(entry, "compute"),
                              .memory = reader.PositiveShare(entry, "memory"),
                              .half_rate_mflop = reader.Number(entry, "half_rate_mflop"),
                              .exposed = entry["exposed"] ? reader.Share(entry, "exposed") : 0};
  }
  return kind;
}

// Adds what is a kind's own. rates: where its peak rates are.
DeviceKind WithOwn(DeviceKind kind, const YamlReader& reader, const YAML::Node& node, const YAML::Node& rates) {
  kind.name = reader.Text(node, "kind");
  kind.memory_bytes = reader.Positive(node, "memory_bytes");
  kind.memory_gb_per_s = reader.Positive(node, "memory_gb_per_s");
  kind.peak_gflops_f32 = reader.Positive(rates, "f32");
  kind.peak_gflops_f16 = reader.Positive(rates, "f16");
  return kind;
}

std::vector<DeviceKind> ReadKinds(const YamlReader& reader, const YAML::Node& root) {
  if (!root.IsMap() || !root["kinds"]) {
    reader.CheckMap(root, "a device kind",
                    {"kind", "memory_bytes", "memory_gb_per_s", "launch_us", "peak_gflops", "efficiency"});
    const YAML::Node peak = reader.Member(root, "peak_gflops", "a number, or a map");
    reader.CheckMap(peak, "peak_gflops", {"f32", "f16"});
    return {WithOwn(ReadShared(reader, root), reader, root, peak)};
  }
  reader.CheckMap(root, "device kinds", {"launch_us", "efficiency", "kinds"});
  const DeviceKind shared = ReadShared(reader, root);
  if (!root["kinds"].IsSequence() || root["kinds"].size() == 0) {
    throw reader.At(root["kinds"], "kinds: expected a list of at least one device kind");
  }
  std::vector<DeviceKind> kinds;
  for (const YAML::Node& node : root["kinds"]) {
    reader.CheckMap(node, "a device kind", {"kind", "memory_bytes", "memory_gb_per_s", "f32", "f16"});
    kinds.push_back(WithOwn(shared, reader, node, node));
  }
  return kinds;
}

}  // namespace

std::vector<DeviceKind> LoadKindsOfFile(const fs::path& path) {
  return ReadYaml(ReadFile(path), path.string(), ReadKinds);
}

std::vector<DeviceKind> LoadDeviceKinds(const fs::path& folder) {
  if (!fs::is_directory(folder))
    throw BadInput(StrCat(folder.string(), ": no such folder, expected device kinds, *.yaml"));
  std::map<std::string, DeviceKind> by_name;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    for (const DeviceKind& kind : LoadKindsOfFile(entry.path())) {
      if (!by_name.emplace(kind.name, kind).second)
        throw BadInput(StrCat(entry.path().string(), ": kind '", kind.name, "' is defined twice"));
    }
  }
  if (by_name.empty()) throw BadInput(StrCat(folder.string(), ": holds no device kind, expected *.yaml"));
  std::vector<DeviceKind> kinds;
  for (const auto& [name, kind] : by_name) kinds.push_back(kind);
  return kinds;
}

fs::path DefaultKindsFolder() { return ShippedFolder("configs", "EMPLACE_CONFIG_DIR") / "devices"; }

}  // namespace emplace
