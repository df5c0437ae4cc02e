#include "simulator/machine/cluster.h"

#include <cmath>
#include <set>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/ids.h"
#include "common/strings.h"
#include "simulator/machine/topology_yaml.h"
#include "simulator/machine/yaml_reader.h"

namespace emplace {
namespace {

std::vector<int32_t> ReadCores(const YamlReader& reader, const YAML::Node& list) {
  constexpr double kMostCores = 1 << 16;
  const auto wrong = [&](const YAML::Node& node, const std::string& what) {
    return reader.At(node, StrCat("cores: ", what, ", expected a list of different core numbers such as [0, 1]"));
  };
  if (!list.IsSequence() || list.size() == 0) throw wrong(list, "is no list, or empty");
  std::set<int32_t> cores;
  for (const YAML::Node& node : list) {
    double core = -1;
    if (!node.IsScalar() || !YAML::convert<double>::decode(node, core) || !(core >= 0 && core < kMostCores) ||
        core != std::floor(core)) {
      throw wrong(node, StrCat("has '", node.IsScalar() ? node.Scalar() : "...", "'"));
    }
    if (!cores.insert(static_cast<int32_t>(core)).second) throw wrong(node, StrCat("has ", core, " twice"));
  }
  return {cores.begin(), cores.end()};
}

Device ReadDevice(const YamlReader& reader, const YAML::Node& node) {
  reader.CheckMap(node, "a device", {"name", "kind", "memory_bytes", "cores"});
  const double memory = reader.Number(node, "memory_bytes");
  if (memory >= 0x1p62)
    throw reader.At(node["memory_bytes"], StrCat("memory_bytes is ", memory, ", expected less than 2^62"));
  Device device = {reader.Text(node, "name"), reader.Text(node, "kind"), static_cast<int64_t>(memory)};
  if (node["cores"]) device.cores = ReadCores(reader, node["cores"]);
  return device;
}

std::vector<Device> ReadDevices(const YamlReader& reader, const YAML::Node& list) {
  if (!list.IsSequence() || list.size() == 0) throw reader.At(list, "devices: expected a list of at least one device");
  if (list.size() > static_cast<size_t>(kMaxDevices)) {
    throw reader.At(list, StrCat("devices: has ", list.size(), " entries, expected at most ", kMaxDevices));
  }
  std::vector<Device> devices;
  std::set<std::string> names;
  for (const YAML::Node& node : list) {
    devices.push_back(ReadDevice(reader, node));
    if (!names.insert(devices.back().name).second) {
      throw reader.At(node, StrCat("device name '", devices.back().name, "' is used twice"));
    }
  }
  return devices;
}

LinkModel ReadSenderModel(const YamlReader& reader, const YAML::Node& transfer, bool blocks) {
  if (!transfer["model"]) return blocks ? LinkModel::kPerDestination : LinkModel::kShared;
  const std::string name = reader.Text(transfer, "model");
  for (const LinkModel model : {LinkModel::kShared, LinkModel::kPerDestination}) {
    if (name != LinkModelName(model)) continue;
    if (blocks && model == LinkModel::kShared) {
      throw reader.At(transfer["model"],
                      "model is 'shared', in which a transfer has no single receiver that it could block, expected "
                      "per_destination beside 'blocking'");
    }
    return model;
  }
  throw reader.At(transfer["model"], StrCat("model is '", name, "', expected shared or per_destination"));
}

MemoryRule ReadMemoryRule(const YamlReader& reader, const YAML::Node& root) {
  if (!root["memory_rule"]) return MemoryRule::kExecutor;
  const std::string name = reader.Text(root, "memory_rule");
  if (const std::optional<MemoryRule> rule = MemoryRuleNamed(name)) return *rule;
  throw reader.At(root["memory_rule"], StrCat("memory_rule is '", name, "', expected executor or placeto"));
}

void ReadLinks(const YamlReader& reader, const YAML::Node& root, Cluster& cluster) {
  if (const YAML::Node node = root["topology"]) {
    if (root["transfer"])
      throw reader.At(root["transfer"], "'transfer' and 'topology' are both given, expected one of them");
    std::vector<std::string> names;
    for (const Device& device : cluster.devices) names.push_back(device.name);
    TopologySection section = ReadTopology(reader, node, names);
    cluster.link_model = LinkModel::kTopology;
    cluster.topology = std::move(section.topology);
    cluster.transfer_overhead_us = section.overhead_us;
    cluster.blocking = section.blocking;
    return;
  }
  const YAML::Node transfer = root["transfer"];
  if (!transfer) throw reader.At(root, "'transfer' is missing, expected it, or 'topology' in its place");
  reader.CheckMap(transfer, "transfer", {"bandwidth_bytes_per_us", "latency_us", "overhead_us", "model", "blocking"});
  cluster.bandwidth_bytes_per_us = reader.Positive(transfer, "bandwidth_bytes_per_us");
  if (transfer["latency_us"]) cluster.transfer_latency_us = reader.Number(transfer, "latency_us");
  cluster.transfer_overhead_us = reader.Number(transfer, "overhead_us");
  if (transfer["blocking"]) cluster.blocking = reader.Share(transfer, "blocking");
  cluster.link_model = ReadSenderModel(reader, transfer, cluster.blocking > 0);
}

Cluster ReadCluster(const YamlReader& reader, const YAML::Node& root) {
  reader.CheckMap(root, "the file", {"devices", "op_overhead_us", "memory_rule", "transfer", "topology"});
  Cluster cluster;
  cluster.devices = ReadDevices(reader, reader.Member(root, "devices", "a list"));
  cluster.op_overhead_us = reader.Number(root, "op_overhead_us");
  cluster.memory_rule = ReadMemoryRule(reader, root);
  ReadLinks(reader, root, cluster);
  return cluster;
}

}  // namespace

Cluster ParseCluster(std::string_view yaml, const std::string& source) { return ReadYaml(yaml, source, ReadCluster); }

Cluster ParseClusterWithoutFiles(std::string_view yaml, const std::string& source) {
  return ReadYaml(yaml, source, [](const YamlReader& reader, const YAML::Node& root) {
    if (root.IsMap() && root["topology"] && root["topology"].IsScalar()) {
      throw reader.At(root["topology"], "topology names a file, expected a map");
    }
    return ReadCluster(reader, root);
  });
}

Cluster LoadCluster(const std::filesystem::path& path) { return ParseCluster(ReadFile(path), path.string()); }

std::string ClusterToYaml(const Cluster& cluster) {
  YAML::Emitter out;
  out << YAML::BeginMap << YAML::Key << "devices" << YAML::Value << YAML::BeginSeq;
  for (const Device& device : cluster.devices) {
    out << YAML::Flow << YAML::BeginMap << YAML::Key << "name" << YAML::Value << YAML::DoubleQuoted << device.name
        << YAML::Key << "kind" << YAML::Value << device.kind << YAML::Key << "memory_bytes" << YAML::Value
        << device.memory_bytes;
    if (!device.cores.empty()) out << YAML::Key << "cores" << YAML::Value << YAML::Flow << device.cores;
    out << YAML::EndMap;
  }
  out << YAML::EndSeq;
  out << YAML::Key << "op_overhead_us" << YAML::Value << ShortestDouble(cluster.op_overhead_us);
  out << YAML::Key << "memory_rule" << YAML::Value << MemoryRuleName(cluster.memory_rule);
  if (cluster.link_model == LinkModel::kTopology) {
    out << YAML::Key << "topology" << YAML::Value;
    WriteTopology(out, {cluster.topology, cluster.transfer_overhead_us, cluster.blocking}, cluster.devices.size());
  } else {
    out << YAML::Key << "transfer" << YAML::Value << YAML::BeginMap;
    out << YAML::Key << "bandwidth_bytes_per_us" << YAML::Value << ShortestDouble(cluster.bandwidth_bytes_per_us);
    out << YAML::Key << "latency_us" << YAML::Value << ShortestDouble(cluster.transfer_latency_us);
    out << YAML::Key << "overhead_us" << YAML::Value << ShortestDouble(cluster.transfer_overhead_us);
    out << YAML::Key << "model" << YAML::Value << LinkModelName(cluster.link_model);
    if (cluster.blocking > 0) out << YAML::Key << "blocking" << YAML::Value << ShortestDouble(cluster.blocking);
    out << YAML::EndMap;
  }
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

std::string LinkModelName(LinkModel model) {
  switch (model) {
    case LinkModel::kShared:
      return "shared";
    case LinkModel::kPerDestination:
      return "per_destination";
    case LinkModel::kTopology:
      return "topology";
  }
  CheckFailed(__FILE__, __LINE__, "link model is known", "");
}

std::string MemoryRuleName(MemoryRule rule) { return rule == MemoryRule::kPlaceto ? "placeto" : "executor"; }

std::optional<MemoryRule> MemoryRuleNamed(std::string_view name) {
  for (const MemoryRule rule : {MemoryRule::kExecutor, MemoryRule::kPlaceto}) {
    if (name == MemoryRuleName(rule)) return rule;
  }
  return std::nullopt;
}

}  // namespace emplace
