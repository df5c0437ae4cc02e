// What learner and actors say to each other, as plain structs. messages.capnp is the schema, codec.h the translation.
//
// The learner binds three sockets: control (ROUTER; the port that actors are given), trajectories (PULL, bounded) and
// notices (PUB). An actor says Hello on control until it gets a Welcome, then pushes trajectories, sends a Heartbeat
// every heartbeat_s, and on a notice of a newer version asks for the weights between episodes. In lockstep it also asks
// which episodes to play.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "common/ids.h"
#include "common/trajectory.h"
#include "common/wire/array_bundle.h"

namespace emplace {

inline constexpr uint32_t kProtocolVersion = 2;

// actor -> learner, control
struct Incarnation {
  uint32_t number = 0;
  uint64_t nonce = 0;  // Of its Hello.
};
struct Hello {
  uint32_t protocol = kProtocolVersion;
  std::string name;    // Stable across restarts of one slot ("host/0"); decides the actor id.
  uint64_t nonce = 0;  // Random, one a process: a repeated Hello of one process is not a new incarnation.
  // This process's incarnations with learners before, whose last episodes it may still have: the latest first.
  std::vector<Incarnation> earlier = {};
};
struct Heartbeat {
  ActorKey actor;
  uint64_t session = 0;       // Of the learner that welcomed it.
  uint64_t produced = 0;      // Highest sequence number used so far.
  PolicyVersion version = 0;  // What it rolls out with.
};
struct WeightsRequest {
  ActorKey actor;
};
struct WorkRequest {  // In lockstep, of an actor that has these weights and nothing to play.
  ActorKey actor;
  uint64_t session = 0;
  PolicyVersion version = 0;
};
struct Goodbye {  // A clean end; the last thing an actor says.
  ActorKey actor;
  uint64_t produced = 0;
};
using ActorMessage = std::variant<Hello, Heartbeat, WeightsRequest, WorkRequest, Goodbye>;

// learner -> actor, control
struct Welcome {
  ActorKey actor;                     // Assigned by the learner.
  uint64_t session = 0;               // Random, one a learner process.
  uint64_t first_sequence = 1;        // Where this incarnation's numbering starts.
  std::string config_yaml;            // Resolved run configuration.
  std::string trajectories_endpoint;  // "tcp://127.0.0.1:40001"
  std::string notices_endpoint;
  std::vector<ArrayBundle> tasks;  // PlacementTasks, as simulator/placement_task.h bundles them; index = GraphId
};
struct HeartbeatReply {
  uint64_t session = 0;  // Another than the actor's: it must say Hello again.
  PolicyVersion version = 0;
};
struct WeightsReply {
  PolicyVersion version = 0;
  uint64_t hash = 0;  // XXH3-64 of blob
  std::string blob;   // policy.safetensors bytes
};
struct Work {  // In lockstep: which episodes of this version to play. None: there is nothing to do for now.
  uint64_t session = 0;
  PolicyVersion version = 0;
  std::vector<uint32_t> episodes;
};
struct Refusal {  // The learner does not want this peer (another protocol version, say); the actor ends with `reason`.
  std::string reason;
};
struct Stop {};  // Training is over: finish, say Goodbye, exit 0.
using LearnerMessage = std::variant<Welcome, HeartbeatReply, WeightsReply, Work, Refusal, Stop>;

// learner -> actors, notices
struct Notice {
  uint64_t session = 0;
  PolicyVersion version = 0;
  bool stop = false;
};

}  // namespace emplace
