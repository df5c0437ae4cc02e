// Writes the inputs that fuzzing starts from, tests/fuzz/corpus/TARGET/*, and the dictionary of the configuration's
// keys, with the project's own writers: to be called again when a format changes.
//
//   make_fuzz_corpus tests/fuzz
#include <filesystem>
#include <map>

#include "common/error.h"
#include "common/files/content_hash.h"
#include "common/files/file_io.h"
#include "common/files/safetensors.h"
#include "common/rng.h"
#include "common/strings.h"
#include "common/wire/messages/control_codec.h"
#include "common/wire/messages/rank_codec.h"
#include "common/wire/messages/trajectory_codec.h"
#include "learner/ledger.h"
#include "learner/ranks/step_message.h"
#include "learner/storage/checkpoint.h"
#include "policy/config/run_config.h"
#include "simulator/graph/graph_io.h"
#include "simulator/graph/placement.h"
#include "simulator/machine/cluster.h"
#include "simulator/task/task_bundle.h"
#include "tests/fuzz/frames.h"
#include "tests/fuzz/play_episode.h"
#include "tests/fuzz/small_machine.h"
#include "tests/fuzz/small_step.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using Inputs = std::map<std::string, std::string>;  // Name -> bytes.

Inputs Graphs() {
  const std::string small = GraphToJson(SmallGraph());
  return {{"small", small},
          {"small.zst", CompressZstd(small)},
          {"one_op", R"({"format": "emplace.graph/1", "ops": [{"name": "a", "cost_us": 1}]})"},
          {"names", R"({"format": "emplace.graph/1", "name": "", "meta": {"by": [1]}, "ops": [)"
                    R"({"name": "a:0", "cost_us": {"k80": 1.5, "cpu": 1e3}, "outputs": [{"bytes": 12.0}]},)"
                    R"({"name": "\u00e9", "cost_us": 0, "inputs": ["a:0", "a:0:0", "^a:0"]}]})"},
          {"no_ops", R"({"format": "emplace.graph/1", "ops": []})"}};
}

Inputs Devices() {
  Cluster per_destination = SmallCluster();
  per_destination.link_model = LinkModel::kPerDestination;
  return {{"shared", ClusterToYaml(SmallCluster())},
          {"per_destination", ClusterToYaml(per_destination)},
          {"topology", ClusterToYaml(SmallTopologyCluster())},
          {"anchors",
           "devices: [&a {name: 'x', kind: k, memory_bytes: 0x10}]\nop_overhead_us: 0\n"
           "transfer: {bandwidth_bytes_per_us: 1e-3, overhead_us: .5}\n"}};
}

Inputs Configurations() {
  return {
      {"defaults", RunConfigToYaml(RunConfig())},
      {"short", "name: short\ntraining: {iterations: 10, learning_rate: 1e-3}\nworkload:\n  ranges: [steps=1..2]\n"},
      {"files", "workload:\n  family: ''\n  train_graphs: [a.graph.json, ../b.graph.json]\n  devices: d.yaml\n"},
      {"set",
       "--set training.iterations=5\n--set workload.ranges=[a, b]\n--set name=\"x y\"\nseed: 18446744073709551615\n"},
      {"empty", ""}};
}

Inputs Placements() {
  const Placement placement = {0, 0, 0, 1, 0, 1};
  return {{"by_name", PlacementToJson(SmallGraph(), SmallCluster(), placement)},
          {"found", PlacementToJson(SmallGraph(), SmallCluster(), placement, R"({"episodes": 3})")},
          {"order", PlacementToJson(SmallGraph(), SmallCluster(), placement, "", {{0, 2, 1, 4}, {3, 5}})},
          {"bare", "[0, 0, 0, 1, 0, 1]"}};
}

std::string Safetensors() {
  SafetensorsFile file;
  file.metadata = {{"format", "x"}, {"note", "\u00e9\n"}};
  file.tensors = {SafetensorsTensor::Of<float>("a", {2, 2}, std::vector<float>{1, 2, 3, 4}),
                  SafetensorsTensor::Of<uint64_t>("scalar", {}, std::vector<uint64_t>{7}),
                  SafetensorsTensor::Of<uint8_t>("none", {0, 3}, std::vector<uint8_t>{})};
  return SerializeSafetensors(file);
}

std::string LedgerJson() {
  Ledger ledger;
  const ActorKey actor = ledger.Join("host/0", 7, 5);
  for (const uint64_t sequence : std::initializer_list<uint64_t>{1, 2, 5}) ledger.Admit(actor, sequence);
  ledger.CountTrained(actor);
  ledger.CountStale(actor);
  ledger.NoteProduced(actor, 9);
  ledger.Join("host/1", 8, 6);
  return ledger.ToJson();
}

std::string CheckpointFrames() {
  Checkpoint checkpoint;
  checkpoint.policy = NarrowPolicy(false);
  const size_t parameters = checkpoint.policy.values.size();
  checkpoint.updater = {
      .adam = {.steps = 2, .mean = std::vector<float>(parameters), .variance = std::vector<float>(parameters)},
      .objective = {.metadata = {},
                    .tensors = {SafetensorsTensor::Of<float>("returns.0", {2}, std::vector<float>{1, 2}),
                                SafetensorsTensor::Of<double>("entropy_weight", {1}, std::vector<double>{0.5})}}};
  checkpoint.rng_state = Rng(1).state();
  checkpoint.validation_history = {0.9, 0.8};
  checkpoint.ledger_json = LedgerJson();
  checkpoint.kernel_path = "portable";
  checkpoint.config_yaml = "name: x\n";
  const CheckpointFiles files = SerializeCheckpoint(checkpoint);
  std::string state = files.state;
  // What the target fills in.
  for (const char* what : {"policy", "optimizer", "state"}) {
    const std::string key = StrCat("\"", what, "_xxh64\": \"");
    state.replace(state.find(key) + key.size(), 16, StrCat("@", what));
  }
  return JoinFrames(std::vector<std::string>{files.policy, files.optimizer, state});
}

Inputs Trajectories() {
  const std::vector<PlacementTask> tasks = SmallTasks();
  Inputs inputs;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const auto graph = static_cast<GraphId>(seed % tasks.size());
    Trajectory trajectory = PlayEpisode(tasks[graph], {}, seed);
    trajectory.graph = graph;
    trajectory.actor = {1, 2};
    trajectory.sequence = seed;
    inputs[StrCat("episode_", seed)] = JoinFrames(Encode(trajectory));
  }
  return inputs;
}

Inputs Welcomes() {
  Inputs inputs;
  const auto add = [&](const std::string& name, const std::vector<PlacementTask>& tasks) {
    Welcome welcome{{1, 2}, 3, 1, "name: fuzz\n", "tcp://127.0.0.1:40001", {}};
    for (const PlacementTask& task : tasks) welcome.tasks.push_back(ToBundle(task));
    inputs[name] = JoinFrames(Encode(LearnerMessage(welcome)));
  };
  add("small", SmallTasks());
  add("topology", {SmallTopologyTask()});
  Welcome measuring{{1, 2}, 3, 1, "name: fuzz\n", "tcp://127.0.0.1:40001", {ToBundle(SmallTasks()[0])}};
  measuring.machine = ClusterToYaml(SmallCluster());
  measuring.graphs = {GraphToJson(SmallGraph())};
  inputs["measuring"] = JoinFrames(Encode(LearnerMessage(measuring)));
  return inputs;
}

// A frame for each array of SmallTopologyTask, empty where the task has no such array.
Inputs Tasks() {
  const ArrayBundle pattern = ToBundle(SmallTopologyTask());
  Inputs inputs;
  const auto add = [&](const std::string& name, const PlacementTask& task) {
    std::map<std::string, std::string> bytes;
    const ArrayBundle bundle = ToBundle(task);
    for (const NamedArray& array : bundle.arrays()) bytes[array.name].assign(array.bytes.begin(), array.bytes.end());
    std::vector<std::string> frames;
    for (const NamedArray& array : pattern.arrays()) frames.push_back(bytes[array.name]);
    inputs[name] = JoinFrames(frames);
  };
  add("topology", SmallTopologyTask());
  add("small", SmallTasks()[0]);
  add("chain", SmallTasks()[1]);
  return inputs;
}

Inputs Messages() {
  const ActorKey actor{1, 2};
  Inputs inputs = {{"hello", JoinFrames(Encode(ActorMessage(Hello{kProtocolVersion, "host/0", 5})))},
                   {"heartbeat", JoinFrames(Encode(ActorMessage(Heartbeat{actor, 3, 4, 5})))},
                   {"weights_request", JoinFrames(Encode(ActorMessage(WeightsRequest{actor})))},
                   {"goodbye", JoinFrames(Encode(ActorMessage(Goodbye{actor, 9})))},
                   {"weights_reply", JoinFrames(Encode(LearnerMessage(WeightsReply{3, Hash64("blob"), "blob"})))},
                   {"refusal", JoinFrames(Encode(LearnerMessage(Refusal{"another protocol"})))},
                   {"stop", JoinFrames(Encode(LearnerMessage(Stop{})))},
                   {"measure_request", JoinFrames(Encode(LearnerMessage(MeasureRequest{7, 1, {0, 1, 1}})))},
                   {"measure_reply", JoinFrames(Encode(ActorMessage(MeasureReply{actor, 7, 20.5})))},
                   {"notice", JoinFrames(Encode(LearnerMessage(Notice{3, 4})))},
                   {"rank_hello", JoinFrames(Encode(RankMessage(RankHello{kProtocolVersion, 1, "host", 9, "avx2"})))},
                   {"rank_failure", JoinFrames(Encode(RankMessage(RankFailure{"no memory"})))},
                   {"rank_ping", JoinFrames(Encode(LeaderMessage(RankPing{})))}};
  RankData share{RankDataKind::kShards, 7, {}};
  share.arrays.Put("rows", std::vector<float>{0.5F, -1});
  inputs["rank_data"] = JoinFrames(Encode(RankMessage(share)));
  RankWelcome welcome{.ranks = 2, .config_yaml = "name: x\n", .tasks = {share.arrays}, .state = share.arrays};
  inputs["rank_welcome"] = JoinFrames(Encode(LeaderMessage(welcome)));
  inputs.merge(Trajectories());
  inputs["welcome"] = Welcomes().at("small");
  return inputs;
}

// A frame for each array of each step, empty where the step leaves the array out.
std::string StepFrames(const std::vector<ArrayBundle>& messages, const ArrayBundle& pattern) {
  std::vector<std::string> frames;
  for (const ArrayBundle& message : messages) {
    for (const NamedArray& expected : pattern.arrays()) {
      std::string& frame = frames.emplace_back();
      for (const NamedArray& array : message.arrays()) {
        if (array.name == expected.name) frame.assign(array.bytes.begin(), array.bytes.end());
      }
    }
  }
  return JoinFrames(frames);
}

Inputs Steps() {
  const PolicyWeights policy = NarrowPolicy();
  SmallStep step(SmallTasks());
  const ArrayBundle first = step.ToArrays(policy.values);
  step.GoOn();
  const ArrayBundle second = step.ToArrays(policy.values);
  return {{"one", StepFrames({first}, first)},
          {"epochs", StepFrames({first, ChangedArrays(first, second)}, first)},
          {"batches", StepFrames({first, second}, first)}};
}

// "  training.iterations = 1000  (...": the key stands first in each line of the help.
std::string ConfigurationDictionary() {
  std::string text = "# Written by make_corpus.cc.\n";
  for (const std::string& line : Split(RunConfigHelp(), '\n')) {
    const size_t end = line.find(" = ");
    if (end == std::string::npos) continue;
    const std::string key = line.substr(2, end - 2);
    const size_t dot = key.find('.');
    text += StrCat("\"", key, "=\"\n");
    if (dot != std::string::npos) text += StrCat("\"", key.substr(0, dot), ":\"\n\"", key.substr(dot + 1), ": \"\n");
  }
  return text + "\"--set \"\n";
}

void Write(const fs::path& folder, const std::map<std::string, Inputs>& corpus) {
  for (const auto& [target, inputs] : corpus) {
    fs::remove_all(folder / "corpus" / target);
    MakeFolder(folder / "corpus" / target);
    for (const auto& [name, bytes] : inputs) WriteFileAtomically(folder / "corpus" / target / name, bytes);
  }
  WriteFileAtomically(folder / "dictionaries" / "run_config.dict", ConfigurationDictionary());
}

}  // namespace
}  // namespace emplace

int main(int argc, char** argv) {
  return emplace::RunMain("make_fuzz_corpus", [&] {
    using namespace emplace;
    if (argc != 2) throw BadInput("expected one argument, the folder tests/fuzz");
    Write(argv[1],
          {{"graph_json", Graphs()},
           {"devices_yaml", Devices()},
           {"run_config", Configurations()},
           {"placement_json", Placements()},
           {"safetensors", {{"three", Safetensors()}, {"policy", SerializePolicy(NarrowPolicy(false))}}},
           {"policy",
            {{"narrow", SerializePolicy(NarrowPolicy(false))}, {"memory", SerializePolicy(NarrowPolicy(true))}}},
           {"checkpoint", {{"two_graphs", CheckpointFrames()}}},
           {"ledger", {{"two_actors", LedgerJson()}, {"empty", Ledger().ToJson()}}},
           {"messages", Messages()},
           {"welcome", Welcomes()},
           {"task", Tasks()},
           {"trajectory", Trajectories()},
           {"step", Steps()}});
    return 0;
  });
}
