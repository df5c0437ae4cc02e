#include "learner/workload.h"

#include <utility>

#include "common/error.h"
#include "common/error_place.h"
#include "common/files/content_hash.h"
#include "common/files/file_io.h"
#include "common/strings.h"
#include "simulator/families/family.h"
#include "simulator/families/program/device_kind.h"
#include "simulator/graph/graph_io.h"
#include "simulator/instances/instance_source.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFewestToHoldOut = 10;  // Training graphs.
constexpr size_t kHoldOutEvery = 5;

class WorkloadBuilder {
 public:
  WorkloadBuilder(const RunConfig& config, const fs::path& graphs_folder)
      : config_(config), graphs_folder_(graphs_folder) {
    if (config.workload.endless()) return;
    workload_.cluster = LoadCluster(config.workload.devices);
    workload_.num_devices = workload_.cluster.num_devices();
  }

  Workload Build() {
    if (config_.workload.endless()) {
      AddInstances(InstancePart::kValidation, config_.evolution.validation_instances, workload_.validation);
      AddInstances(InstancePart::kTest, config_.evolution.test_instances, workload_.test);
    } else if (config_.workload.family.empty()) {
      for (const std::string& path : config_.workload.train_graphs) AddForTraining(Load(path), path);
      AddFiles(config_.workload.validation_graphs, workload_.validation);
      AddFiles(config_.workload.test_graphs, workload_.test);
    } else {
      AddFamily();
    }
    if (workload_.validation.empty()) ChooseWithoutValidation();
    if (!hashes_.empty()) workload_.graphs_hash = ContentHash(hashes_);
    workload_.takes_last =
        workload_.choice == VersionChoice::kLast || config_.evaluation.final_policy == FinalPolicy::kLast;
    return std::move(workload_);
  }

 private:
  void Add(const OpGraph& graph, const std::string& source, std::vector<PlacementTask>& tasks) const {
    tasks.push_back(WithPlace(StrCat(source, " on ", config_.workload.devices), [&] {
      CheckKinds(graph, workload_.cluster);
      const auto max_groups = static_cast<int32_t>(config_.grouping.max_groups);
      return config_.training.evolves() ? PlacementTask::Make(graph, workload_.cluster, max_groups)
                                        : PlacementTask::MakeForEpisodes(graph, workload_.cluster, max_groups);
    }));
  }

  void AddInstances(InstancePart part, int64_t count, std::vector<PlacementTask>& tasks) const {
    const InstanceSource source(config_.instances, part, config_.seed);
    for (int64_t i = 0; i < count; ++i) tasks.push_back(TaskOf(source.Make(static_cast<uint64_t>(i))));
  }

  void AddForTraining(OpGraph graph, const std::string& source) {
    Add(graph, source, workload_.train);
    workload_.train_graphs.push_back(std::move(graph));
  }

  OpGraph Load(const std::string& path) {
    OpGraph graph = LoadGraph(path);
    hashes_ += ContentHash(GraphToJson(graph));
    return graph;
  }

  void AddFiles(const std::vector<std::string>& paths, std::vector<PlacementTask>& tasks) {
    for (const std::string& path : paths) Add(Load(path), path, tasks);
  }

  void ChooseWithoutValidation() {
    const size_t graphs = workload_.train.size();
    if (graphs < kFewestToHoldOut) {
      workload_.choice = graphs == 1 ? VersionChoice::kSearch : VersionChoice::kLast;
      workload_.validation = workload_.train;
      return;
    }
    workload_.choice = VersionChoice::kHeldOut;
    std::vector<PlacementTask> train;
    std::vector<OpGraph> train_graphs;
    for (size_t i = 0; i < graphs; ++i) {
      const bool held_out = i % kHoldOutEvery == kHoldOutEvery - 1;
      (held_out ? workload_.validation : train).push_back(std::move(workload_.train[i]));
      if (!held_out) train_graphs.push_back(std::move(workload_.train_graphs[i]));
    }
    workload_.train = std::move(train);
    workload_.train_graphs = std::move(train_graphs);
  }

  void AddFamily() {
    const FamilyOptions options{.family = config_.workload.family,
                                .count = config_.workload.count,
                                .train = config_.workload.train,
                                .validation = config_.workload.validation,
                                .seed = config_.workload.seed,
                                .size = config_.workload.size,
                                .dtype = config_.workload.dtype,
                                .calls = config_.workload.calls,
                                .ranges = config_.workload.ranges};
    Family family = GenerateFamily(options, LoadDeviceKinds(DefaultKindsFolder()));
    fs::create_directories(graphs_folder_);
    for (const std::vector<OpGraph>* const graphs : {&family.graphs, &family.validation}) {
      for (const OpGraph& graph : *graphs) {
        const std::string json = GraphToJson(graph);
        WriteFileAtomically(graphs_folder_ / (graph.name() + ".graph.json"), json);
        hashes_ += ContentHash(json);
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
  std::string hashes_;  // Of the graphs, one after the other.
};

}  // namespace

const char* ValidationName(VersionChoice choice) { return ValidatesOnOthers(choice) ? "validation" : "training"; }

std::string DescribeChoice(const Workload& workload) {
  if (workload.takes_last && workload.choice != VersionChoice::kLast) {
    return "the run ends with the last policy, as evaluation.final_policy says";
  }
  switch (workload.choice) {
    case VersionChoice::kValidation:
      return "the run ends with the policy that is best on the validation graphs";
    case VersionChoice::kHeldOut: {
      std::vector<std::string> names;
      for (const PlacementTask& task : workload.validation) names.push_back(task.name);
      return StrCat(
          "no validation graphs are given, so these training graphs are held out to choose the best policy on: ",
          Join(names, ", "));
    }
    case VersionChoice::kSearch:
      return "the run ends with the policy that is best on the only training graph";
    case VersionChoice::kLast:
      return StrCat("no validation graphs are given, and fewer than ", kFewestToHoldOut,
                    " training graphs to hold some out: the run ends with the last policy");
  }
  EMPLACE_CHECK(false);
  return "";
}

Workload BuildWorkload(const RunConfig& config, const fs::path& graphs_folder) {
  return WorkloadBuilder(config, graphs_folder).Build();
}

}  // namespace emplace
