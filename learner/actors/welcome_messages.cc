#include "learner/actors/welcome_messages.h"

#include "simulator/graph/graph_io.h"
#include "simulator/task/task_bundle.h"

namespace emplace {

WelcomeMessages::WelcomeMessages(const std::vector<PlacementTask>& tasks, const RunConfig& config, uint64_t session,
                                 const std::optional<RunnableGraphs>& runnable)
    : tasks_(tasks),
      lockstep_(config.training.lockstep()),
      trials_(config.training.evolves()),
      config_yaml_(RunConfigToYaml(config)),
      session_(session),
      runnable_(runnable) {}

void WelcomeMessages::SetTrajectoriesAddress(const std::string& address) {
  trajectories_address_ = address;
  simulating_.emplace(ForAll());
}

Welcome WelcomeMessages::ForAll() const {
  Welcome welcome;
  welcome.session = session_;
  welcome.config_yaml = config_yaml_;
  welcome.trajectories_endpoint = trajectories_address_;
  if (trials_) {
    if (runnable_) AddGraphs(welcome);
    return welcome;
  }
  for (const PlacementTask& task : tasks_) welcome.tasks.push_back(ToBundle(task));
  return welcome;
}

void WelcomeMessages::AddGraphs(Welcome& welcome) const {
  if (runnable_->graphs.empty()) return;
  welcome.machine = ClusterToYaml(runnable_->machine);
  for (const OpGraph& graph : runnable_->graphs) welcome.graphs.push_back(GraphToJson(graph));
}

const SharedMessage& WelcomeMessages::ForMeasuring() {
  if (!measuring_) {
    Welcome welcome = ForAll();
    AddGraphs(welcome);
    measuring_.emplace(welcome);
  }
  return *measuring_;
}

std::optional<std::string> WelcomeMessages::WhyNoMeasuring() const {
  if (lockstep_) {
    return "training.sync is lockstep, expected async for actors that measure: nobody can repeat their rewards";
  }
  if (!runnable_) return "this learner has no graphs that can be run, expected an actor that simulates";
  return std::nullopt;
}

void WelcomeMessages::Send(LearnerEndpoint& endpoint, const PeerId& peer, const ActorKey& actor, bool measures) {
  endpoint.SendWelcome(peer, measures ? ForMeasuring() : *simulating_, actor);
}

}  // namespace emplace
