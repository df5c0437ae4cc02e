// What an actor gets when it joins: the configuration, the tasks, and where trajectories go. An actor that measures on
// hardware gets the graphs' ops and the machine besides. A Welcome may be megabytes, so each of the two kinds is
// encoded once, and only the actor's key differs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/trajectory.h"
#include "common/wire/learner_endpoint.h"
#include "policy/config/run_config.h"
#include "simulator/graph/op_graph.h"
#include "simulator/machine/cluster.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// What an actor needs to run the graphs of the tasks.
struct RunnableGraphs {
  const std::vector<OpGraph>& graphs;  // [tasks]
  const Cluster& machine;
};

// Belongs to the thread of the endpoint that sends them.
class WelcomeMessages {
 public:
  // runnable: what actors that measure get; nullopt: there is nothing for them. REQUIRES: tasks and what `runnable`
  // refers to outlive the messages.
  WelcomeMessages(const std::vector<PlacementTask>& tasks, const RunConfig& config, uint64_t session,
                  const std::optional<RunnableGraphs>& runnable);

  // Sets the address that actors send trajectories to. Call it once, before Send.
  void SetTrajectoriesAddress(const std::string& address);

  // Why no actor that measures may join; nullopt: it may.
  std::optional<std::string> WhyNoMeasuring() const;
  // Welcomes the actor. REQUIRES: if it measures, WhyNoMeasuring is nullopt.
  void Send(LearnerEndpoint& endpoint, const PeerId& peer, const ActorKey& actor, bool measures);

 private:
  Welcome ForAll() const;
  void AddGraphs(Welcome& welcome) const;
  const SharedMessage& ForMeasuring();

  const std::vector<PlacementTask>& tasks_;
  const bool lockstep_;
  const bool trials_;  // Whether actors play trials, for which they make the tasks themselves from the graphs.
  const std::string config_yaml_;
  const uint64_t session_;
  const std::optional<RunnableGraphs> runnable_;
  std::string trajectories_address_;
  std::optional<SharedMessage> simulating_;
  std::optional<SharedMessage> measuring_;  // Made when the first actor that measures joins.
};

}  // namespace emplace
