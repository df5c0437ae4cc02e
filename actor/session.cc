#include "actor/session.h"

#include <utility>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/graph/graph_io.h"
#include "simulator/task/task_bundle.h"

namespace emplace {
namespace {

// The graphs from which the tasks were made, and the machine, for an actor that runs them.
void UnpackGraphs(Welcome& welcome, Session& session) {
  if (welcome.graphs.empty()) return;
  if (welcome.graphs.size() != session.tasks.size()) {
    throw BadInput(StrCat("welcome from the learner: it has the ops of ", welcome.graphs.size(), " graphs, expected ",
                          session.tasks.size()));
  }
  session.machine = ParseClusterWithoutFiles(welcome.machine, "machine from the learner");
  const int32_t devices = session.tasks.front().groups.num_devices;
  if (session.machine.num_devices() != devices) {
    throw BadInput(StrCat("machine from the learner: has ", session.machine.num_devices(), " devices, expected ",
                          devices, " as the graphs are for"));
  }
  for (size_t i = 0; i < welcome.graphs.size(); ++i) {
    const PlacementTask& task = session.tasks[i];
    session.graphs.push_back(ParseGraph(welcome.graphs[i], StrCat("graph '", task.name, "' from the learner")));
    welcome.graphs[i].clear();
    if (session.graphs.back().num_ops() == task.sim.num_ops) continue;
    throw BadInput(StrCat("graph '", task.name, "' from the learner: has ", session.graphs.back().num_ops(),
                          " ops, expected ", task.sim.num_ops, " as its task"));
  }
}

// The tasks of trials. Methods that place whole graphs need more of a task than what is sent of it.
void MakeTasks(const Welcome& welcome, Session& session) {
  if (welcome.graphs.empty() != session.config.workload.endless()) {
    throw BadInput(StrCat("welcome from the learner: it has ", welcome.graphs.size(), " graphs, expected ",
                          session.config.workload.endless() ? "none, as instances are made here" : "at least 1"));
  }
  if (welcome.graphs.empty()) return;
  session.machine = ParseClusterWithoutFiles(welcome.machine, "machine from the learner");
  for (const std::string& text : welcome.graphs) {
    const OpGraph graph = ParseGraph(text, "graph from the learner");
    session.tasks.push_back(
        PlacementTask::Make(graph, session.machine, static_cast<int32_t>(session.config.grouping.max_groups)));
  }
}

}  // namespace

Session UnpackWelcome(Welcome&& welcome) {
  const std::string source = "configuration from the learner";
  Session session;
  session.actor = welcome.actor;
  session.id = welcome.session;
  session.first_sequence = welcome.first_sequence;
  session.config = ParseRunConfig(welcome.config_yaml, source, {});
  session.trajectories_address = std::move(welcome.trajectories_endpoint);
  if (session.config.training.evolves()) {
    MakeTasks(welcome, session);
    return session;
  }
  if (welcome.tasks.empty()) throw BadInput("welcome from the learner: it has 0 graphs, expected at least 1");
  session.tasks.reserve(welcome.tasks.size());
  for (ArrayBundle& bundle : welcome.tasks) {
    session.tasks.push_back(TaskFromBundle(bundle));
    bundle = ArrayBundle();
    const int32_t devices = session.tasks.back().groups.num_devices;
    const int32_t expected = session.tasks.front().groups.num_devices;
    if (devices != expected) {
      throw BadInput(StrCat("graph '", session.tasks.back().name, "' from the learner is for ", devices,
                            " devices, expected ", expected, " as for the first"));
    }
  }
  UnpackGraphs(welcome, session);
  return session;
}

}  // namespace emplace
