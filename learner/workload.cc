#include "learner/workload.h"

#include "common/error.h"
#include "common/file_io.h"
#include "common/strings.h"
#include "simulator/families/cost_model.h"
#include "simulator/families/family.h"
#include "simulator/graph_io.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

class WorkloadBuilder {
 public:
  WorkloadBuilder(const RunConfig& config, const fs::path& graphs_folder)
      : config_(config), graphs_folder_(graphs_folder) {
    workload_.cluster = LoadCluster(config.workload.devices);
    workload_.num_devices = workload_.cluster.num_devices();
  }

  Workload Build() {
    if (config_.workload.family.empty()) {
      for (const std::string& path : config_.workload.train_graphs) AddForTraining(LoadGraph(path), path);
      AddFiles(config_.workload.validation_graphs, workload_.validation);
      AddFiles(config_.workload.test_graphs, workload_.test);
    } else {
      AddFamily();
    }
    if (workload_.validation.empty()) workload_.validation = workload_.train;
    return std::move(workload_);
  }

 private:
  void Add(const OpGraph& graph, const std::string& source, std::vector<PlacementTask>& tasks) const {
    try {
      CheckKinds(graph, workload_.cluster);
      tasks.push_back(
          PlacementTask::MakeForEpisodes(graph, workload_.cluster, static_cast<int32_t>(config_.grouping.max_groups)));
    } catch (const Error& error) {
      throw BadInput(StrCat(source, " on ", config_.workload.devices, ": ", error.what()));
    }
  }

  void AddForTraining(OpGraph graph, const std::string& source) {
    Add(graph, source, workload_.train);
    workload_.train_graphs.push_back(std::move(graph));
  }

  void AddFiles(const std::vector<std::string>& paths, std::vector<PlacementTask>& tasks) const {
    for (const std::string& path : paths) Add(LoadGraph(path), path, tasks);
  }

  void AddFamily() {
    const FamilyOptions options{.family = config_.workload.family,
                                .count = config_.workload.count,
                                .train = config_.workload.train,
                                .validation = config_.workload.validation,
                                .seed = config_.workload.seed,
                                .size = config_.workload.size,
                                .dtype = config_.workload.dtype,
                                .ranges = config_.workload.ranges};
    Family family = GenerateFamily(options, LoadDeviceKinds(DefaultKindsFolder()));
    fs::create_directories(graphs_folder_);
    for (const std::vector<OpGraph>* const graphs : {&family.graphs, &family.validation}) {
      for (const OpGraph& graph : *graphs) {
        WriteFileAtomically(graphs_folder_ / (graph.name() + ".graph.json"), GraphToJson(graph));
      }
    }
    WriteFileAtomically(graphs_folder_ / "split.json", SplitToJson(options, family));
    for (const size_t i : family.test) Add(family.graphs[i], family.graphs[i].name(), workload_.test);
    for (const OpGraph& graph : family.validation) Add(graph, graph.name(), workload_.validation);
    for (const size_t i : family.train) {
      const std::string name = family.graphs[i].name();
      AddForTraining(std::move(family.graphs[i]), name);
    }
  }

  const RunConfig& config_;
  const fs::path graphs_folder_;
  Workload workload_;
};

}  // namespace

Workload BuildWorkload(const RunConfig& config, const fs::path& graphs_folder) {
  return WorkloadBuilder(config, graphs_folder).Build();
}

}  // namespace emplace
