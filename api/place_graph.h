// Placing a graph as `emplace place` does: checks of the input, the method, an order if one is asked for, and never
// worse than one device. The command and the Python package share it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simulator/graph/grouping.h"
#include "simulator/graph/op_graph.h"
#include "simulator/machine/cluster.h"
#include "simulator/methods/fallback.h"
#include "simulator/methods/placement_method.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// The name beside OrderNames that keeps a method from giving an order.
inline constexpr char kNoOrder[] = "none";

struct PlaceRequest {
  std::string graph_source = {};           // Names the graph in errors, such as its file.
  std::string devices_source = {};         // Names the cluster in errors.
  std::string method;                      // Name of the method, for errors and for PlacedGraph::found_by.
  int32_t max_groups = kDefaultMaxGroups;  // Ops are merged into at most this many groups.
  bool ends_any_method = false;            // Whether options.seconds ends a method that does not search, too.
  // Called once the method has ended, before what it found is scored and compared with one device; may be empty.
  std::function<void()> on_placed = {};
};

struct PlacedGraph {
  PlacementTask task;
  MethodResult result;        // What the method found.
  MethodScore found;          // Score of that.
  ChosenPlacement chosen;     // What is handed out.
  std::string found_by;       // The method that found it; of a portfolio, the part that did.
  double lower_bound_us = 0;  // Of the makespan.
  double load_bound_us = 0;   // Of the load of the busiest device, with Objective::kThroughput; else 0.
  double seconds = 0;         // Wall time of all of it.
};

// What a user may say of the order, beside nothing: kNoOrder and OrderNames.
std::vector<std::string> OrdersToAskFor();
// Sets options.orders and options.order by what a user said: one of OrderNames, in which the placement will run,
// kNoOrder, or nothing, which lets methods that can give an order where that is faster. Throws BadInput for all else.
void AskForOrder(const std::string& said, MethodOptions& options);

// Throws BadInput as CheckKinds does, and where no placement can fit the memory: what is held
// for the whole step needs more than all devices have, or one op needs more than any device that may run it. Throws
// RunFailed where neither the method nor any single device gives a legal placement. Throws Stopped where options.stop
// ends the method before it has a placement. The method's time begins with the call, so that all of it takes
// options.seconds, and as long as a simulation of the graph; a search that reports progress ends earlier where it is at
// the lower bound, and where a method that request.ends_any_method ends has not placed the graph, the best single
// device does. options: of the method, but for `begin`. REQUIRES: graph and cluster outlive the result's task.
PlacedGraph PlaceGraph(const OpGraph& graph, const Cluster& cluster, const PlaceRequest& request,
                       const MethodOptions& options);

// "1234 bytes" or "1.234 GB"
std::string ShownBytes(double bytes);

}  // namespace emplace
