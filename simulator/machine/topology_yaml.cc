#include "simulator/machine/topology_yaml.h"

#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "common/files/file_io.h"
#include "common/strings.h"

namespace emplace {
namespace {

TopologyLink ReadLink(const YamlReader& reader, const YAML::Node& node, const std::map<std::string, int32_t>& nodes) {
  reader.CheckMap(node, "a link", {"name", "between", "bandwidth_bytes_per_us", "latency_us"});
  TopologyLink link;
  link.name = reader.Text(node, "name");
  const YAML::Node between = reader.Member(node, "between", "a list of two names");
  if (!between.IsSequence() || between.size() != 2) throw reader.At(between, "between: expected two nodes");
  int32_t* const ends[] = {&link.a, &link.b};
  for (size_t end = 0; end < 2; ++end) {
    const std::string name = reader.Name(between[end], "between");
    const auto found = nodes.find(name);
    if (found == nodes.end()) {
      throw reader.At(between[end], StrCat("link '", link.name, "': no device or node has the name '", name, "'"));
    }
    *ends[end] = found->second;
  }
  if (link.a == link.b)
    throw reader.At(between,
                    StrCat("link '", link.name, "' leads from a node to itself, expected two different nodes"));
  link.bandwidth_bytes_per_us = reader.Positive(node, "bandwidth_bytes_per_us");
  link.latency_us = reader.Number(node, "latency_us");
  return link;
}

void CheckAllReachable(const YamlReader& reader, const YAML::Node& links, const Topology& topology,
                       size_t num_devices) {
  const Routes routes = [&] {
    try {
      return FindRoutes(topology, static_cast<int32_t>(num_devices));
    } catch (const Error& error) {
      throw reader.At(links, error.what());
    }
  }();
  for (size_t from = 0; from < num_devices; ++from) {
    for (size_t to = 0; to < num_devices; ++to) {
      if (from == to || !routes.channels.Row(static_cast<int32_t>(from * num_devices + to)).empty()) continue;
      throw reader.At(links, StrCat("no route leads from '", topology.nodes[from], "' to '", topology.nodes[to],
                                    "' (devices do not forward)"));
    }
  }
}

TopologySection ReadMap(const YamlReader& reader, const YAML::Node& root, const std::vector<std::string>& devices) {
  reader.CheckMap(root, "topology", {"overhead_us", "blocking", "nodes", "links"});
  TopologySection section;
  section.overhead_us = reader.Number(root, "overhead_us");
  if (root["blocking"]) section.blocking = reader.Share(root, "blocking");
  Topology& topology = section.topology;
  topology.nodes = devices;
  std::map<std::string, int32_t> index;
  for (const std::string& device : devices) index.emplace(device, static_cast<int32_t>(index.size()));
  if (const YAML::Node nodes = root["nodes"]) {
    if (!nodes.IsSequence()) throw reader.At(nodes, "nodes: expected a list of names");
    for (const YAML::Node& node : nodes) {
      topology.nodes.push_back(reader.Name(node, "nodes"));
      if (!index.emplace(topology.nodes.back(), static_cast<int32_t>(index.size())).second) {
        throw reader.At(node,
                        StrCat("node name '", topology.nodes.back(), "' is used twice (devices are nodes already)"));
      }
    }
  }
  const YAML::Node links = reader.Member(root, "links", "a list");
  if (!links.IsSequence()) throw reader.At(links, "links: expected a list");
  if (links.size() > static_cast<size_t>(kMaxTopologyLinks)) {
    throw reader.At(links, StrCat("links: has ", links.size(), " entries, expected at most ", kMaxTopologyLinks));
  }
  std::set<std::string> names;
  for (const YAML::Node& node : links) {
    topology.links.push_back(ReadLink(reader, node, index));
    if (!names.insert(topology.links.back().name).second) {
      throw reader.At(node, StrCat("link name '", topology.links.back().name, "' is used twice"));
    }
  }
  CheckAllReachable(reader, links, topology, devices.size());
  return section;
}

}  // namespace

TopologySection ReadTopology(const YamlReader& reader, const YAML::Node& node,
                             const std::vector<std::string>& devices) {
  if (!node.IsScalar()) return ReadMap(reader, node, devices);
  const std::filesystem::path path =
      std::filesystem::path(reader.source()).parent_path() / reader.Name(node, "topology");
  std::error_code ignored;  // Whatever it is, there is no file to read.
  if (!std::filesystem::is_regular_file(path, ignored))
    throw reader.At(node, StrCat("topology: there is no file ", path.string()));
  return ReadYaml(ReadFile(path), path.string(),
                  [&devices](const YamlReader& file, const YAML::Node& root) { return ReadMap(file, root, devices); });
}

void WriteTopology(YAML::Emitter& out, const TopologySection& section, size_t num_devices) {
  const std::vector<std::string>& nodes = section.topology.nodes;
  out << YAML::BeginMap << YAML::Key << "overhead_us" << YAML::Value << ShortestDouble(section.overhead_us);
  if (section.blocking > 0) out << YAML::Key << "blocking" << YAML::Value << ShortestDouble(section.blocking);
  out << YAML::Key << "nodes" << YAML::Value << YAML::Flow << YAML::BeginSeq;
  for (size_t i = num_devices; i < nodes.size(); ++i) out << YAML::DoubleQuoted << nodes[i];
  out << YAML::EndSeq << YAML::Key << "links" << YAML::Value << YAML::BeginSeq;
  for (const TopologyLink& link : section.topology.links) {
    out << YAML::Flow << YAML::BeginMap << YAML::Key << "name" << YAML::Value << YAML::DoubleQuoted << link.name
        << YAML::Key << "between" << YAML::Value << YAML::BeginSeq << YAML::DoubleQuoted
        << nodes[static_cast<size_t>(link.a)] << YAML::DoubleQuoted << nodes[static_cast<size_t>(link.b)]
        << YAML::EndSeq << YAML::Key << "bandwidth_bytes_per_us" << YAML::Value
        << ShortestDouble(link.bandwidth_bytes_per_us) << YAML::Key << "latency_us" << YAML::Value
        << ShortestDouble(link.latency_us) << YAML::EndMap;
  }
  out << YAML::EndSeq << YAML::EndMap;
}

}  // namespace emplace
