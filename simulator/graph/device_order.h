// The order in which devices run their ops.
//
// Without one, a device runs ops in the order in which they get ready. That keeps the activations of all micro-batches,
// because the forward passes of later ones get ready before the backward passes of earlier ones. With an order, a
// device runs just its ops in just this order, and idles while the next one is not ready.
#pragma once

#include <span>
#include <vector>

#include "simulator/graph/op_graph.h"
#include "simulator/machine/cluster.h"

namespace emplace {

// [D] the ops of each device, first to last; a device without ops in it has no order. Empty: no device has one.
using DeviceOrders = std::vector<std::vector<OpIndex>>;

// Throws BadInput, which names an op, unless there is an order for each device or none at all, each order has all ops
// of its device once, and the devices can run to the end. They cannot if an op comes, by orders and inputs, before
// itself. REQUIRES: placement is legal (CheckPlacement).
void CheckOrders(const OpGraph& graph, const Cluster& cluster, std::span<const DeviceIndex> placement,
                 const DeviceOrders& orders);

}  // namespace emplace
