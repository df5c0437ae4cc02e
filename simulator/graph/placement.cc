#include "simulator/graph/placement.h"

#include <unordered_set>

#include "common/error.h"
#include "common/file_io.h"
#include "common/json_text.h"
#include "common/strings.h"

namespace emplace {
namespace {

using Json = nlohmann::json;

constexpr char kPlacementFormat[] = "emplace.placement/1";

DeviceIndex ReadDevice(const Json& value, const std::string& op, const Cluster& cluster, const std::string& source) {
  const bool fits =
      value.is_number_integer() && value.get<double>() >= 0 && value.get<double>() < cluster.num_devices();
  if (!fits) {
    throw BadInput(StrCat(source, ": op '", op, "': device is ", ShownJson(value), ", expected an index in 0..",
                          cluster.num_devices() - 1));
  }
  return value.get<DeviceIndex>();
}

void CheckDeviceNames(const Json& names, const Cluster& cluster, const std::string& source) {
  bool same = names.is_array() && names.size() == cluster.devices.size();
  for (size_t d = 0; same && d < cluster.devices.size(); ++d) same = names[d] == cluster.devices[d].name;
  if (same) return;
  Json expected = Json::array();
  for (const Device& device : cluster.devices) expected.push_back(device.name);
  throw BadInput(
      StrCat(source, ": devices are ", ShownJson(names), ", expected those of the cluster: ", ShownJson(expected)));
}

Placement ReadByName(const Json& ops, const OpGraph& graph, const Cluster& cluster, const std::string& source) {
  if (!ops.is_object()) throw BadInput(StrCat(source, ": 'ops' is not an object of op name -> device index"));
  Placement placement;
  for (const Op& op : graph.ops()) {
    const auto found = ops.find(op.name);
    if (found == ops.end()) throw BadInput(StrCat(source, ": op '", op.name, "' has no device"));
    placement.push_back(ReadDevice(*found, op.name, cluster, source));
  }
  if (ops.size() == placement.size()) return placement;
  std::unordered_set<std::string> known;
  for (const Op& op : graph.ops()) known.insert(op.name);
  for (const auto& [name, device] : ops.items()) {
    if (!known.contains(name)) throw BadInput(StrCat(source, ": op '", name, "' is not in graph '", graph.name(), "'"));
  }
  return placement;
}

}  // namespace

void CheckPlacement(const OpGraph& graph, const Cluster& cluster, std::span<const DeviceIndex> placement) {
  if (placement.size() != static_cast<size_t>(graph.num_ops())) {
    // Name the first op that lacks a device, where there is one.
    const std::string first = placement.size() < static_cast<size_t>(graph.num_ops())
                                  ? StrCat("; op '", graph.ops()[placement.size()].name, "' has none")
                                  : "";
    throw BadInput(StrCat("the placement has ", placement.size(), " devices, expected one for each of ",
                          graph.num_ops(), " ops", first));
  }
  for (size_t o = 0; o < placement.size(); ++o) {
    const Op& op = graph.ops()[o];
    if (placement[o] < 0 || placement[o] >= cluster.num_devices()) {
      throw BadInput(
          StrCat("op '", op.name, "': device index ", placement[o], ", expected 0..", cluster.num_devices() - 1));
    }
    const Device& device = cluster.devices[static_cast<size_t>(placement[o])];
    if (!op.AllowedOn(device.kind)) {
      throw BadInput(StrCat("op '", op.name, "': may not run on '", device.name, "' of kind '", device.kind, "'"));
    }
  }
}

Placement ParsePlacement(std::string_view text, const std::string& source, const OpGraph& graph,
                         const Cluster& cluster) {
  const Json root = ParseJson(text, source);
  Placement placement;
  if (root.is_array()) {
    for (size_t o = 0; o < root.size(); ++o) {
      const std::string op = o < graph.ops().size() ? graph.ops()[o].name : StrCat("#", o);
      placement.push_back(ReadDevice(root[o], op, cluster, source));
    }
  } else if (root.is_object()) {
    const Json& format = RequiredMember(root, "format", source);
    if (format != kPlacementFormat)
      throw BadInput(StrCat(source, ": format is ", ShownJson(format), ", expected \"", kPlacementFormat, "\""));
    if (root.contains("devices")) CheckDeviceNames(root["devices"], cluster, source);
    placement = ReadByName(RequiredMember(root, "ops", source), graph, cluster, source);
  } else {
    throw BadInput(StrCat(source, ": expected '", kPlacementFormat, "' or an array of device indices"));
  }
  try {
    CheckPlacement(graph, cluster, placement);
  } catch (const Error& error) {
    throw BadInput(StrCat(source, ": ", error.what()));
  }
  return placement;
}

Placement LoadPlacement(const std::filesystem::path& path, const OpGraph& graph, const Cluster& cluster) {
  return ParsePlacement(ReadFile(path), path.string(), graph, cluster);
}

std::string PlacementToJson(const OpGraph& graph, const Cluster& cluster, std::span<const DeviceIndex> placement,
                            const std::string& found) {
  nlohmann::ordered_json json;
  json["format"] = kPlacementFormat;
  if (!found.empty()) json["found"] = nlohmann::ordered_json::parse(found);
  json["devices"] = Json::array();
  for (const Device& device : cluster.devices) json["devices"].push_back(device.name);
  json["ops"] = nlohmann::ordered_json::object();
  // push_back keeps op order without the look-up of operator[], which is linear in an ordered object.
  auto& ops = json["ops"].get_ref<nlohmann::ordered_json::object_t&>();
  for (size_t o = 0; o < placement.size(); ++o) ops.push_back({graph.ops()[o].name, placement[o]});
  return json.dump(1) + "\n";
}

}  // namespace emplace
