// Reading configs/devices/*.yaml.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <span>

#include "common/error.h"
#include "common/file_io.h"
#include "common/strings.h"
#include "simulator/families/cost_model.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

constexpr const char* kClassNames[] = {"matmul", "convolution", "depthwise", "elementwise", "reduction", "gather"};
static_assert(std::size(kClassNames) + 1 == kNumOpClasses);  // All but kResident.

template <typename T>
struct NumberField {
  const char* name;
  double T::*member;
  double least;  // Exclusive, but for 0 where zero_is_fine.
  double most;
  bool zero_is_fine = false;
};
constexpr NumberField<DeviceKind> kKindFields[] = {
    {"memory_bytes", &DeviceKind::memory_bytes, 0, 1e15},
    {"memory_gb_per_s", &DeviceKind::memory_gb_per_s, 0, 1e9},
    {"launch_us", &DeviceKind::launch_us, 0, 1e9},
};
constexpr NumberField<DeviceKind> kPeakFields[] = {
    {"f32", &DeviceKind::peak_gflops_f32, 0, 1e9},
    {"f16", &DeviceKind::peak_gflops_f16, 0, 1e9},
};
constexpr NumberField<ClassEfficiency> kClassFields[] = {
    {"compute", &ClassEfficiency::compute, 0, 1},
    {"memory", &ClassEfficiency::memory, 0, 1},
    {"half_rate_mflop", &ClassEfficiency::half_rate_mflop, 0, 1e6, true},
};

// One device kind, from its file.
class KindReader {
 public:
  explicit KindReader(const fs::path& path) : path_(path) {}

  DeviceKind Read() const {
    YAML::Node root;
    try {
      root = YAML::Load(ReadFile(path_));
    } catch (const YAML::Exception& error) {
      throw At(error.mark, StrCat("not valid YAML: ", error.msg));
    }
    DeviceKind kind;
    CheckKeys(root, "a device kind", {"kind", "memory_bytes", "memory_gb_per_s", "launch_us", "peak_gflops", "efficiency"});
    kind.name = root["kind"].as<std::string>("");
    if (kind.name.empty()) throw At(root["kind"].Mark(), "'kind' is no name");
    ReadNumbers<DeviceKind>(root, kKindFields, kind);
    const YAML::Node peak = root["peak_gflops"];
    CheckKeys(peak, "peak_gflops", {"f32", "f16"});
    ReadNumbers<DeviceKind>(peak, kPeakFields, kind);
    const YAML::Node classes = root["efficiency"];
    CheckKeys(classes, "efficiency", {std::begin(kClassNames), std::end(kClassNames)});
    for (size_t i = 0; i < std::size(kClassNames); ++i) {
      const YAML::Node entry = classes[kClassNames[i]];
      CheckKeys(entry, kClassNames[i], {"compute", "memory", "half_rate_mflop"});
      ReadNumbers<ClassEfficiency>(entry, kClassFields, kind.efficiency[i + 1]);
    }
    return kind;
  }

 private:
  Error At(const YAML::Mark& mark, const std::string& what) const {
    return BadInput(StrCat(path_.string(), ":", mark.line + 1, ":", mark.column + 1, ": ", what));
  }

  // A map with these keys, all of them and no other.
  void CheckKeys(const YAML::Node& node, const std::string& what, const std::vector<std::string>& keys) const {
    if (!node.IsMap()) throw At(node.Mark(), StrCat(what, ": expected a map with ", Join(keys, ", ")));
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const std::string key = entry.first.as<std::string>("");
      if (!seen.insert(key).second) throw At(entry.first.Mark(), StrCat(what, ": '", key, "' is given twice"));
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      throw At(entry.first.Mark(), StrCat(what, ": unknown key '", key, "', expected one of: ", Join(keys, ", ")));
    }
    for (const std::string& key : keys) {
      if (!node[key]) throw At(node.Mark(), StrCat(what, ": '", key, "' is missing"));
    }
  }

  template <typename T>
  void ReadNumbers(const YAML::Node& node, std::span<const NumberField<T>> fields, T& into) const {
    for (const NumberField<T>& field : fields) {
      double value = 0;
      try {
        value = node[field.name].template as<double>();
      } catch (const YAML::BadConversion&) {
        throw At(node[field.name].Mark(), StrCat(field.name, " is not a number"));
      }
      const bool large_enough = field.zero_is_fine ? value >= field.least : value > field.least;
      if (!(large_enough && value <= field.most)) {
        throw At(node[field.name].Mark(), StrCat(field.name, " is ", value, ", expected ",
                                                 field.zero_is_fine ? "at least " : "more than ", field.least,
                                                 " and at most ", field.most));
      }
      into.*(field.member) = value;
    }
  }

  const fs::path path_;
};

}  // namespace

DeviceKind LoadDeviceKind(const fs::path& path) { return KindReader(path).Read(); }

std::vector<DeviceKind> LoadDeviceKinds(const fs::path& folder) {
  if (!fs::is_directory(folder)) throw BadInput(StrCat(folder.string(), ": no such folder, expected device kinds, *.yaml"));
  std::map<std::string, DeviceKind> by_name;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
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

fs::path DefaultKindsFolder() {
  const char* const configured = std::getenv("EMPLACE_CONFIG_DIR");
  return fs::path(configured != nullptr ? configured : EMPLACE_CONFIG_DIR) / "devices";
}

}  // namespace emplace
