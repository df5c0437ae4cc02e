// The messages between learner and actors, and between the ranks of a learner, as plain structs. messages.capnp has
// their schema, *_codec.h translate them.
//
// The learner binds two sockets: control (ROUTER, at the port that actors are given) and trajectories (ROUTER, with
// bounded queues). An actor sends Hello on control until it gets a Welcome. Then it sends trajectories, and a Heartbeat
// every actor.heartbeat_s seconds. After a notice of a newer version it asks for the weights when its episodes end. In
// lockstep it also asks which episodes to play. An actor that measures its rewards on hardware says so in its Hello; it
// also gets the graphs' ops, to run them, and measures placements for the learner.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "common/array_bundle.h"
#include "common/ids.h"
#include "common/trajectory.h"

namespace emplace {

inline constexpr uint32_t kProtocolVersion = 8;

// actor -> learner, control
struct Incarnation {
  uint32_t number = 0;
  uint64_t nonce = 0;  // The nonce of this incarnation's Hello.
};
struct Hello {
  uint32_t protocol = kProtocolVersion;
  std::string name;    // The same when the actor is restarted ("host/0"); it decides the actor's id.
  uint64_t nonce = 0;  // A random number of the process, by which a repeated Hello is no new incarnation.
  // The incarnations that this process had with earlier learners, the latest first. It may still have their episodes.
  std::vector<Incarnation> earlier = {};
  bool measures = false;  // Whether the rewards of its episodes are measured on hardware.
};
struct Heartbeat {
  ActorKey actor;
  uint64_t session = 0;       // The session in the actor's Welcome.
  uint64_t produced = 0;      // The highest sequence number used so far.
  PolicyVersion version = 0;  // The version that the actor rolls out with.
  uint64_t window_us = 0;     // Sum of its measuring windows in microseconds, in which other work has paused.
};
struct WeightsRequest {
  ActorKey actor;
};
struct WorkRequest {  // In lockstep: an actor that has this version's weights asks for episodes to play.
  ActorKey actor;
  uint64_t session = 0;
  PolicyVersion version = 0;
};
struct Goodbye {  // The last message of an actor that ends cleanly.
  ActorKey actor;
  uint64_t produced = 0;  // As in Heartbeat.
};
struct MeasureReply {  // The answer to a MeasureRequest.
  ActorKey actor;
  uint64_t id = 0;         // That of the request.
  double makespan_us = 0;  // As the rewards of its own episodes are made of.
};
using ActorMessage = std::variant<Hello, Heartbeat, WeightsRequest, WorkRequest, Goodbye, MeasureReply>;

// learner -> actor, control
struct Welcome {
  ActorKey actor;                     // The key that the learner gives the actor.
  uint64_t session = 0;               // A random number of the learner process.
  uint64_t first_sequence = 1;        // The first sequence number of this incarnation.
  std::string config_yaml;            // The resolved run configuration.
  std::string trajectories_endpoint;  // "tcp://127.0.0.1:40001"
  // [graphs] PlacementTasks by GraphId, as simulator/task/task_bundle.h bundles them.
  std::vector<ArrayBundle> tasks;
  // For an actor that measures, or plays trials on graphs; else empty:
  std::string machine = {};              // The devices, as a YAML text of simulator/machine/cluster.h.
  std::vector<std::string> graphs = {};  // [graphs] by GraphId, as JSON texts of simulator/graph/graph_io.h.
};
// The answer to a Heartbeat; also sent to every actor when there is a newer version, and to one whose episodes have
// come.
struct Notice {
  uint64_t session = 0;       // An actor with another session must send Hello again.
  PolicyVersion version = 0;  // The newest version.
  bool measuring = false;     // Whether actors of this run measure on hardware, so that others pause for their windows.
  // The highest sequence number that the actor is to use until it hears of another one; 0: no limit.
  uint64_t sequence_limit = 0;
};
struct WeightsReply {
  PolicyVersion version = 0;
  uint64_t hash = 0;  // XXH3-64 of `blob`.
  std::string blob;   // The bytes of a policy.safetensors.
};
struct Work {  // In lockstep: the answer to a WorkRequest.
  uint64_t session = 0;
  PolicyVersion version = 0;
  std::vector<uint32_t> episodes;  // Numbers of the episodes of this version to play; empty: none for now.
};
struct MeasureRequest {  // To an actor that measures: what does this placement take?
  uint64_t id = 0;
  GraphId graph = 0;
  std::vector<uint8_t> groups;  // [n] device of each group
};
struct Refusal {  // The learner refuses this peer, for another protocol version, say; the actor ends with `reason`.
  std::string reason;
};
struct Stop {};  // Training is over: the actor sends Goodbye and exits with 0.
using LearnerMessage = std::variant<Welcome, Notice, WeightsReply, Work, MeasureRequest, Refusal, Stop>;

// The ranks of a learner (training.ranks) compute its updates together. Rank 0, the leader, binds a ROUTER socket of
// its own for them. Another rank sends RankHello until it gets a RankWelcome. Then the leader sends a step, each rank
// answers with its share of the gradient, the leader sends the sum of all, and each rank makes the same step.
inline constexpr uint32_t kMaxRanks = 256;

// rank -> leader
struct RankHello {
  uint32_t protocol = kProtocolVersion;
  uint32_t rank = 0;
  std::string host;  // Name of the machine, for people.
  uint64_t process = 0;
  std::string kernel;  // The kernel path of the processor: another one has other bits.
};
struct RankFailure {  // The rank ends with `reason`.
  std::string reason;
};

// Both ways.
enum class RankDataKind : uint8_t {
  kStep,    // Leader to all: what an optimizer step is made from, without what is as in the step before.
  kShards,  // To the leader: the rank's share of the gradient.
  kSum,     // Leader to all: the gradient.
};
struct RankData {
  RankDataKind kind = RankDataKind::kStep;
  uint64_t step = 0;   // Number of the optimizer step, counted from 1 in each process of the leader.
  ArrayBundle arrays;  // At least one array.
  // With kStep: whether actors of this run measure on hardware, so that the rank pauses for their windows.
  bool measuring = false;
};
using RankMessage = std::variant<RankHello, RankData, RankFailure>;

// leader -> rank
struct RankWelcome {
  uint32_t ranks = 0;
  std::string config_yaml;         // The resolved run configuration.
  std::vector<ArrayBundle> tasks;  // [graphs] as in Welcome.
  ArrayBundle state;               // Policy and optimizer: learner/ranks/rank_state.h.
};
struct RankPing {};  // Finds out whether the rank is still connected; no answer is expected.
using LeaderMessage = std::variant<RankWelcome, RankData, RankPing, Refusal, Stop>;

}  // namespace emplace
