#include "simulator/families/cost_model.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "common/error.h"
#include "common/file_io.h"
#include "common/strings.h"

namespace emplace {
namespace {

Error At(const std::filesystem::path& path, const YAML::Mark& mark, const std::string& what) {
  return BadInput(StrCat(path.string(), ":", mark.line + 1, ":", mark.column + 1, ": ", what));
}

struct NumberField {
  const char* name;
  double DeviceKind::*member;
  double most;
};
constexpr NumberField kFields[] = {
    {"peak_gflops", &DeviceKind::peak_gflops, 1e9},
    {"compute_efficiency", &DeviceKind::compute_efficiency, 1},
    {"memory_gb_per_s", &DeviceKind::memory_gb_per_s, 1e9},
    {"memory_efficiency", &DeviceKind::memory_efficiency, 1},
    {"launch_us", &DeviceKind::launch_us, 1e9},
};

double ReadNumber(const std::filesystem::path& path, const YAML::Node& node, const NumberField& field) {
  double value = 0;
  try {
    value = node.as<double>();
  } catch (const YAML::BadConversion&) {
    throw At(path, node.Mark(), StrCat(field.name, " is not a number"));
  }
  if (!(value > 0 && value <= field.most)) {
    throw At(path, node.Mark(), StrCat(field.name, " is ", value, ", expected more than 0 and at most ", field.most));
  }
  return value;
}

}  // namespace

DeviceKind LoadDeviceKind(const std::filesystem::path& path) {
  YAML::Node root;
  try {
    root = YAML::Load(ReadFile(path));
  } catch (const YAML::Exception& error) {
    throw At(path, error.mark, StrCat("not valid YAML: ", error.msg));
  }
  if (!root.IsMap()) throw BadInput(StrCat(path.string(), ":1:1: expected a map with kind, peak_gflops, ..."));
  DeviceKind kind;
  for (const auto& entry : root) {
    const std::string key = entry.first.as<std::string>("");
    if (key == "kind") {
      kind.name = entry.second.as<std::string>("");
      continue;
    }
    const auto* const field =
        std::find_if(std::begin(kFields), std::end(kFields), [&](const NumberField& f) { return key == f.name; });
    if (field == std::end(kFields)) throw At(path, entry.first.Mark(), StrCat("unknown key '", key, "'"));
    kind.*(field->member) = ReadNumber(path, entry.second, *field);
  }
  if (kind.name.empty()) throw At(path, root.Mark(), "'kind' is missing, expected a name");
  for (const NumberField& field : kFields) {
    if (!root[field.name]) throw At(path, root.Mark(), StrCat("'", field.name, "' is missing"));
  }
  return kind;
}

std::vector<DeviceKind> LoadDeviceKinds(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder))
    throw BadInput(StrCat(folder.string(), ": no such folder, expected device kinds, *.yaml"));
  std::map<std::string, DeviceKind> by_name;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    const DeviceKind kind = LoadDeviceKind(entry.path());
    if (!by_name.emplace(kind.name, kind).second)
      throw BadInput(StrCat(entry.path().string(), ": kind '", kind.name, "' is defined twice"));
  }
  if (by_name.empty()) throw BadInput(StrCat(folder.string(), ": holds no device kind, expected *.yaml"));
  std::vector<DeviceKind> kinds;
  for (const auto& [name, kind] : by_name) kinds.push_back(kind);
  return kinds;
}

std::filesystem::path DefaultKindsFolder() {
  const char* const configured = std::getenv("EMPLACE_CONFIG_DIR");
  return std::filesystem::path(configured != nullptr ? configured : EMPLACE_CONFIG_DIR) / "devices";
}

double CostUs(const DeviceKind& kind, double flops, int64_t bytes) {
  const double compute_us = flops / (kind.peak_gflops * 1e3 * kind.compute_efficiency);
  const double memory_us = static_cast<double>(bytes) / (kind.memory_gb_per_s * 1e3 * kind.memory_efficiency);
  return std::round((std::max(compute_us, memory_us) + kind.launch_us) * 1e3) / 1e3;
}

}  // namespace emplace
