// What an actor gets when it joins a learner: the content of a Welcome, checked and unpacked. A session is one learner
// process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/trajectory.h"
#include "common/wire/messages/messages.h"
#include "policy/config/run_config.h"
#include "simulator/graph/op_graph.h"
#include "simulator/machine/cluster.h"
#include "simulator/task/placement_task.h"

namespace emplace {

struct Session {
  ActorKey actor;
  uint64_t id = 0;
  uint64_t first_sequence = 1;
  RunConfig config;
  // [GraphId] all are for the same number of devices; at least one, but where trials are played on instances.
  std::vector<PlacementTask> tasks;
  std::string trajectories_address;
  // For an actor that measures, or plays trials on graphs; else empty:
  Cluster machine;
  std::vector<OpGraph> graphs;  // [GraphId] what the tasks were made from.
};

// Throws BadInput that says what is wrong. Frees each graph's message as soon as it is unpacked.
Session UnpackWelcome(Welcome&& welcome);

}  // namespace emplace
