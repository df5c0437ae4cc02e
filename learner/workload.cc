#include "learner/workload.h"

#include <utility>

#include "common/error.h"
#include "common/error_place.h"
#include "common/files/content_hash.h"
#include "common/files/file_io.h"
#include "common/strings.h"
#include "common/threads/thread_team.h"
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
      workload_.validation = Instances(InstancePart::kValidation, config_.evolution.validation_instances);
      workload_.test = Instances(InstancePart::kTest, config_.evolution.test_instances);
    } else if (config_.workload.family.empty()) {
      AddFiles();
    } else {
      AddFamily();
    }
    if (workload_.validation.empty()) ChooseWithoutValidation();
    if (!hashes_.empty()) workload_.graphs_hash = ContentHash(hashes_);
    workload_.conditions_hash = ContentHash(Conditions());
    workload_.takes_last =
        workload_.choice == VersionChoice::kLast || config_.evaluation.final_policy == FinalPolicy::kLast;
    return std::move(workload_);
  }

 private:
  struct Prepared {
    OpGraph graph;
    std::string hash;  // Of the graph's text.
    PlacementTask task;
  };

  PlacementTask TaskFor(const OpGraph& graph, const std::string& source) const {
    return WithPlace(StrCat(source, " on ", config_.workload.devices), [&] {
      CheckKinds(graph, workload_.cluster);
      const auto max_groups = static_cast<int32_t>(config_.grouping.max_groups);
      return config_.training.evolves() ? PlacementTask::Make(graph, workload_.cluster, max_groups)
                                        : PlacementTask::MakeForEpisodes(graph, workload_.cluster, max_groups);
    });
  }

  Prepared PreparedFrom(OpGraph graph, const std::string& json, const std::string& source) const {
    PlacementTask task = TaskFor(graph, source);
    return {std::move(graph), ContentHash(json), std::move(task)};
  }

  std::vector<PlacementTask> Instances(InstancePart part, int64_t count) const {
    const InstanceSource source(config_.instances, part, config_.seed);
    return MakeOnAllCores(static_cast<size_t>(count), [&](size_t i) { return TaskOf(source.Make(i)); });
  }

  void AddForTraining(Prepared prepared) {
    workload_.train.push_back(std::move(prepared.task));
    workload_.train_graphs.push_back(std::move(prepared.graph));
  }

  void AddFiles() {
    const WorkloadConfig& config = config_.workload;
    std::vector<std::string> paths = config.train_graphs;
    for (const auto* const more : {&config.validation_graphs, &config.test_graphs})
      paths.insert(paths.end(), more->begin(), more->end());
    std::vector<Prepared> prepared = MakeOnAllCores(paths.size(), [&](size_t i) {
      OpGraph graph = LoadGraph(paths[i]);
      const std::string json = GraphToJson(graph);
      return PreparedFrom(std::move(graph), json, paths[i]);
    });
    for (size_t i = 0; i < prepared.size(); ++i) {
      hashes_ += prepared[i].hash;
      if (i < config.train_graphs.size()) {
        AddForTraining(std::move(prepared[i]));
      } else {
        const bool validates = i < config.train_graphs.size() + config.validation_graphs.size();
        (validates ? workload_.validation : workload_.test).push_back(std::move(prepared[i].task));
      }
    }
  }

  std::string Conditions() const {
    std::string text = StrCat(ToString(config_.environment.start), "\n", config_.evolution.evaluation_budget, "\n",
                              config_.seed, "\n");
    if (!config_.workload.endless()) return text + ClusterToYaml(workload_.cluster);
    text += std::to_string(config_.evolution.validation_instances);
    const FieldTable<InstanceConfig> instances = InstanceFields();
    for (const ConfigField& field : instances.fields()) text += "\n" + TextOf(field.get(&config_.instances));
    return text;
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
    const std::string split = SplitToJson(options, family);
    const size_t graphs = family.graphs.size();
    std::vector<Prepared> prepared = MakeOnAllCores(graphs + family.validation.size(), [&](size_t i) {
      OpGraph& graph = i < graphs ? family.graphs[i] : family.validation[i - graphs];
      const std::string name = graph.name();
      const std::string json = GraphToJson(graph);
      WriteFileAtomically(graphs_folder_ / (name + ".graph.json"), json);
      return PreparedFrom(std::move(graph), json, name);
    });
    WriteFileAtomically(graphs_folder_ / "split.json", split);
    for (const Prepared& one : prepared) hashes_ += one.hash;
    for (const size_t i : family.test) workload_.test.push_back(std::move(prepared[i].task));
    for (size_t i = graphs; i < prepared.size(); ++i) workload_.validation.push_back(std::move(prepared[i].task));
    for (const size_t i : family.train) AddForTraining(std::move(prepared[i]));
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
