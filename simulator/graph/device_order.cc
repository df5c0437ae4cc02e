#include "simulator/graph/device_order.h"

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

// The order of one device has each of its ops once.
void CheckOps(const OpGraph& graph, const Cluster& cluster, std::span<const DeviceIndex> placement, size_t device,
              const std::vector<OpIndex>& order) {
  const auto fail = [&](const std::string& op, const std::string& what) {
    return BadInput(StrCat("order of '", cluster.devices[device].name, "': op '", op, "' ", what));
  };
  std::vector<bool> in_order(placement.size());
  for (const OpIndex op : order) {
    const auto o = static_cast<size_t>(op);
    if (op < 0 || o >= placement.size()) {
      throw BadInput(StrCat("order of '", cluster.devices[device].name, "': there is no op ", op, ", expected 0 to ",
                            placement.size() - 1));
    }
    const auto on = static_cast<size_t>(placement[o]);
    if (on != device) {
      throw fail(graph.op(op).name, StrCat("is on '", cluster.devices[on].name, "', expected ops of this device"));
    }
    if (in_order[o]) throw fail(graph.op(op).name, "comes twice, expected each op once");
    in_order[o] = true;
  }
  for (size_t o = 0; o < placement.size(); ++o) {
    if (static_cast<size_t>(placement[o]) == device && !in_order[o]) {
      throw fail(graph.ops()[o].name, "is missing, expected every op of this device");
    }
  }
}

}  // namespace

void CheckOrders(const OpGraph& graph, const Cluster& cluster, std::span<const DeviceIndex> placement,
                 const DeviceOrders& orders) {
  if (orders.empty()) return;
  if (orders.size() != cluster.devices.size()) {
    throw BadInput(StrCat("order: there are orders for ", orders.size(), " devices, expected one for each of ",
                          cluster.devices.size()));
  }
  // An order is like control edges from each op to the next: it can be followed if the graph has no cycle with them.
  std::vector<Op> ops = graph.ops();
  for (size_t device = 0; device < orders.size(); ++device) {
    const std::vector<OpIndex>& order = orders[device];
    if (order.empty()) continue;
    CheckOps(graph, cluster, placement, device, order);
    for (size_t i = 1; i < order.size(); ++i) {
      ops[static_cast<size_t>(order[i])].inputs.push_back({order[i - 1], OpInput::kControl});
    }
  }
  try {
    const OpGraph with_orders(graph.name(), std::move(ops));
  } catch (const Error& error) {
    throw BadInput(StrCat("order: no device could go on, for with its edges ", error.what()));
  }
}

}  // namespace emplace
