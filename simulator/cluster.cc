#include "simulator/cluster.h"

#include <yaml-cpp/yaml.h>

#include <cmath>
#include <set>

#include "common/error.h"
#include "common/file_io.h"
#include "common/strings.h"
#include "common/trajectory.h"

namespace emplace {
namespace {

// "source:line:col"; an empty file has no mark of its own.
std::string Place(const std::string& source, const YAML::Mark& mark) {
  return mark.is_null() ? source + ":1:1" : StrCat(source, ":", mark.line + 1, ":", mark.column + 1);
}

// One devices file while it is read: knows how to name a place in it.
class ClusterReader {
 public:
  explicit ClusterReader(const std::string& source) : source_(source) {}

  Cluster Read(const YAML::Node& root) const {
    CheckMap(root, "the file", {"devices", "op_overhead_us", "transfer"});
    Cluster cluster;
    const YAML::Node devices = Member(root, "devices");
    if (!devices.IsSequence() || devices.size() == 0) throw At(devices, "devices: expected a list of at least one device");
    if (devices.size() > static_cast<size_t>(kMaxDevices)) {
      throw At(devices, StrCat("devices: has ", devices.size(), " entries, expected at most ", kMaxDevices));
    }
    std::set<std::string> names;
    for (const YAML::Node& node : devices) {
      cluster.devices.push_back(ReadDevice(node));
      if (!names.insert(cluster.devices.back().name).second) {
        throw At(node, StrCat("device name '", cluster.devices.back().name, "' is used twice"));
      }
    }
    cluster.op_overhead_us = Number(root, "op_overhead_us");
    const YAML::Node transfer = Member(root, "transfer");
    CheckMap(transfer, "transfer", {"bandwidth_bytes_per_us", "overhead_us"});
    cluster.bandwidth_bytes_per_us = Number(transfer, "bandwidth_bytes_per_us");
    if (cluster.bandwidth_bytes_per_us <= 0) {
      throw At(transfer["bandwidth_bytes_per_us"], "bandwidth_bytes_per_us is 0, expected more");
    }
    cluster.transfer_overhead_us = Number(transfer, "overhead_us");
    return cluster;
  }

 private:
  Error At(const YAML::Node& node, const std::string& what) const {
    return BadInput(StrCat(Place(source_, node.Mark()), ": ", what));
  }

  void CheckMap(const YAML::Node& node, const std::string& what, const std::set<std::string>& known) const {
    if (!node.IsMap()) throw At(node, StrCat(what, ": expected a map with ", Join({known.begin(), known.end()}, ", ")));
    for (const auto& entry : node) {
      const std::string key = entry.first.as<std::string>();
      if (known.count(key) == 0) {
        throw At(entry.first, StrCat("unknown key '", key, "' in ", what, ", expected ", Join({known.begin(), known.end()}, ", ")));
      }
    }
  }

  YAML::Node Member(const YAML::Node& map, const std::string& key) const {
    const YAML::Node member = map[key];
    if (!member) throw At(map, StrCat("'", key, "' is missing"));
    return member;
  }

  double Number(const YAML::Node& map, const std::string& key) const {
    const YAML::Node node = Member(map, key);
    double value = 0;
    try {
      value = node.as<double>();
    } catch (const YAML::BadConversion&) {
      throw At(node, StrCat(key, " is not a number"));
    }
    if (!std::isfinite(value) || value < 0) {
      throw At(node, StrCat(key, " is ", value, ", expected a finite number of at least 0"));
    }
    return value;
  }

  std::string Text(const YAML::Node& map, const std::string& key) const {
    const YAML::Node node = Member(map, key);
    if (!node.IsScalar() || node.Scalar().empty()) throw At(node, StrCat(key, ": expected a name"));
    return node.Scalar();
  }

  Device ReadDevice(const YAML::Node& node) const {
    CheckMap(node, "a device", {"name", "kind", "memory_bytes"});
    const double memory = Number(node, "memory_bytes");
    if (memory >= 0x1p62) throw At(node["memory_bytes"], StrCat("memory_bytes is ", memory, ", expected less than 2^62"));
    return {Text(node, "name"), Text(node, "kind"), static_cast<int64_t>(memory)};
  }

  std::string source_;
};

}  // namespace

Cluster ParseCluster(std::string_view yaml, const std::string& source) {
  try {
    return ClusterReader(source).Read(YAML::Load(std::string(yaml)));
  } catch (const YAML::Exception& error) {
    throw BadInput(StrCat(Place(source, error.mark), ": not valid YAML: ", error.msg));
  }
}

Cluster LoadCluster(const std::filesystem::path& path) { return ParseCluster(ReadFile(path), path.string()); }

std::string ClusterToYaml(const Cluster& cluster) {
  YAML::Emitter out;
  out << YAML::BeginMap << YAML::Key << "devices" << YAML::Value << YAML::BeginSeq;
  for (const Device& device : cluster.devices) {
    out << YAML::Flow << YAML::BeginMap << YAML::Key << "name" << YAML::Value << YAML::DoubleQuoted << device.name
        << YAML::Key << "kind" << YAML::Value << device.kind << YAML::Key << "memory_bytes" << YAML::Value
        << device.memory_bytes << YAML::EndMap;
  }
  out << YAML::EndSeq;
  out << YAML::Key << "op_overhead_us" << YAML::Value << ShortestDouble(cluster.op_overhead_us);
  out << YAML::Key << "transfer" << YAML::Value << YAML::BeginMap;
  out << YAML::Key << "bandwidth_bytes_per_us" << YAML::Value << ShortestDouble(cluster.bandwidth_bytes_per_us);
  out << YAML::Key << "overhead_us" << YAML::Value << ShortestDouble(cluster.transfer_overhead_us);
  out << YAML::EndMap << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace emplace
