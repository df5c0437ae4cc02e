#include "simulator/graph/placement.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "common/error.h"
#include "common/error_place.h"
#include "common/files/file_io.h"
#include "common/files/json_text.h"
#include "common/strings.h"

namespace emplace {
namespace {

using Json = nlohmann::json;

constexpr char kPlacementFormat[] = "emplace.placement/1";

constexpr char kDeviceByOp[] = "an object with a device index for each op";

// The kinds that may run an op, for an error about one that may not.
std::string KindsOf(const Op& op) {
  if (op.cost.is_uniform()) return Join(op.allowed, ", ");
  std::vector<std::string> kinds;
  for (const std::string& kind : op.cost.kinds()) {
    if (op.AllowedOn(kind)) kinds.push_back(kind);
  }
  return kinds.empty() ? "that both cost_us and allowed have (none does)" : Join(kinds, ", ");
}

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

Error NotInGraph(const std::string& place, const std::string& op, const OpGraph& graph) {
  return BadInput(StrCat(place, ": op '", op, "' is not in graph '", graph.name(), "', expected its ops alone"));
}

Placement ReadByName(const Json& ops, const OpGraph& graph, const Cluster& cluster, const std::string& source) {
  if (!ops.is_object()) throw BadInput(StrCat(source, ": ops is ", ShownJson(ops), ", expected ", kDeviceByOp));
  Placement placement;
  for (const Op& op : graph.ops()) {
    const auto found = ops.find(op.name);
    if (found == ops.end())
      throw BadInput(StrCat(source, ": op '", op.name, "' has no device, expected one for each op"));
    placement.push_back(ReadDevice(*found, op.name, cluster, source));
  }
  if (ops.size() == placement.size()) return placement;
  std::unordered_set<std::string> known;
  for (const Op& op : graph.ops()) known.insert(op.name);
  for (const auto& [name, device] : ops.items()) {
    if (!known.contains(name)) throw NotInGraph(source, name, graph);
  }
  return placement;
}

size_t DeviceNamed(const std::string& name, const Cluster& cluster, const std::string& source) {
  std::vector<std::string> known;
  for (const Device& device : cluster.devices) {
    if (device.name == name) return static_cast<size_t>(&device - cluster.devices.data());
    known.push_back(device.name);
  }
  throw BadInput(StrCat(source, ": order: there is no device '", name, "', expected one of: ", Join(known, ", ")));
}

// `placement` tells which devices have ops: DeviceOrders cannot tell an order without ops from no order.
DeviceOrders ReadOrders(const Json& orders, const OpGraph& graph, const Cluster& cluster, const Placement& placement,
                        const std::string& source) {
  if (!orders.is_object()) {
    throw BadInput(
        StrCat(source, ": order is ", ShownJson(orders), ", expected an object with a list of ops for each device"));
  }
  std::unordered_map<std::string, OpIndex> op_named;
  for (OpIndex o = 0; o < graph.num_ops(); ++o) op_named[graph.op(o).name] = o;
  DeviceOrders read(cluster.devices.size());
  for (const auto& [device, ops] : orders.items()) {
    const std::string place = StrCat(source, ": order of '", device, "'");
    const size_t d = DeviceNamed(device, cluster, source);
    if (!ops.is_array()) throw BadInput(StrCat(place, " is ", ShownJson(ops), ", expected a list of op names"));
    for (const Json& name : ops) {
      if (!name.is_string()) throw BadInput(StrCat(place, " holds ", ShownJson(name), ", expected op names"));
      const auto found = op_named.find(name.get<std::string>());
      if (found == op_named.end()) {
        throw NotInGraph(place, name.get<std::string>(), graph);
      }
      read[d].push_back(found->second);
    }
    const auto first = std::find(placement.begin(), placement.end(), static_cast<DeviceIndex>(d));
    if (ops.empty() && first != placement.end()) {
      throw BadInput(StrCat(place, " is empty, but op '",
                            graph.ops()[static_cast<size_t>(first - placement.begin())].name,
                            "' is on this device, expected every op of it"));
    }
  }
  return read;
}

}  // namespace

Error NoDeviceFor(const Op& op, const Cluster& cluster) {
  std::set<std::string> kinds;
  for (const Device& device : cluster.devices) kinds.insert(device.kind);
  return BadInput(StrCat("op '", op.name, "': no device may run it, expected one of kind ", KindsOf(op),
                         "; the devices are of kind ", Join({kinds.begin(), kinds.end()}, ", ")));
}

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
      throw BadInput(StrCat("op '", op.name, "': may not run on '", device.name, "' of kind '", device.kind,
                            "', expected a device of kind ", KindsOf(op)));
    }
  }
}

OrderedPlacement ParseOrderedPlacement(std::string_view text, const std::string& source, const OpGraph& graph,
                                       const Cluster& cluster) {
  const Json root = ParseJson(text, source);
  OrderedPlacement read;
  Placement& placement = read.placement;
  if (root.is_array()) {
    for (size_t o = 0; o < root.size(); ++o) {
      const std::string op = o < graph.ops().size() ? graph.ops()[o].name : StrCat("#", o);
      placement.push_back(ReadDevice(root[o], op, cluster, source));
    }
  } else if (root.is_object()) {
    const Json& format = RequiredMember(root, "format", source, StrCat("\"", kPlacementFormat, "\""));
    if (format != kPlacementFormat)
      throw BadInput(StrCat(source, ": format is ", ShownJson(format), ", expected \"", kPlacementFormat, "\""));
    CheckKeys(root, {"format", "found", "devices", "ops", "order"}, source);
    if (root.contains("devices")) CheckDeviceNames(root["devices"], cluster, source);
    placement = ReadByName(RequiredMember(root, "ops", source, kDeviceByOp), graph, cluster, source);
    if (root.contains("order")) read.orders = ReadOrders(root["order"], graph, cluster, placement, source);
  } else {
    throw BadInput(StrCat(source, ": expected '", kPlacementFormat, "' or an array of device indices"));
  }
  WithPlace(source, [&] {
    CheckPlacement(graph, cluster, placement);
    CheckOrders(graph, cluster, placement, read.orders);
  });
  return read;
}

OrderedPlacement LoadOrderedPlacement(const std::filesystem::path& path, const OpGraph& graph, const Cluster& cluster) {
  return ParseOrderedPlacement(ReadFile(path), path.string(), graph, cluster);
}

Placement ParsePlacement(std::string_view text, const std::string& source, const OpGraph& graph,
                         const Cluster& cluster) {
  return ParseOrderedPlacement(text, source, graph, cluster).placement;
}

std::string PlacementToJson(const OpGraph& graph, const Cluster& cluster, std::span<const DeviceIndex> placement,
                            const std::string& found, const DeviceOrders& orders) {
  nlohmann::ordered_json json;
  json["format"] = kPlacementFormat;
  if (!found.empty()) json["found"] = nlohmann::ordered_json::parse(found);
  json["devices"] = Json::array();
  for (const Device& device : cluster.devices) json["devices"].push_back(device.name);
  json["ops"] = nlohmann::ordered_json::object();
  // push_back keeps op order without the look-up of operator[], which is linear in an ordered object.
  auto& ops = json["ops"].get_ref<nlohmann::ordered_json::object_t&>();
  for (size_t o = 0; o < placement.size(); ++o) ops.push_back({graph.ops()[o].name, placement[o]});
  for (size_t device = 0; device < orders.size(); ++device) {
    if (orders[device].empty()) continue;
    nlohmann::ordered_json& names = json["order"][cluster.devices[device].name] = nlohmann::ordered_json::array();
    for (const OpIndex op : orders[device]) names.push_back(graph.op(op).name);
  }
  return json.dump(1) + "\n";
}

}  // namespace emplace
