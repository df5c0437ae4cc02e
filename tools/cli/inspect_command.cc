#include <yaml-cpp/yaml.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/format_version.h"
#include "common/files/json_text.h"
#include "common/strings.h"
#include "common/wire/access/keys.h"
#include "policy/checkpoint_folders.h"
#include "policy/config/run_config.h"
#include "policy/placer/planner_method.h"
#include "policy/policy_kinds.h"
#include "policy/policy_weights.h"
#include "simulator/families/program/device_kind.h"
#include "simulator/graph/graph_io.h"
#include "simulator/machine/cluster.h"
#include "simulator/machine/yaml_reader.h"
#include "simulator/methods/planner_parameters.h"
#include "tools/cli/commands.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

// Each describer returns {"what": ..., then what there is to say}; it throws BadInput when the file is damaged.

// The member of this name, or `otherwise` where there is none. Throws BadInput for one of another type.
template <typename T>
T MemberOr(const OrderedJson& object, const char* name, const T& otherwise, const fs::path& path) {
  try {
    return object.value(name, otherwise);
  } catch (const nlohmann::json::exception&) {
    throw BadInput(StrCat(path.string(), ": '", name, "' is ", ShownJson(object.at(name)), ", expected ",
                          std::is_same_v<T, int64_t> ? "a whole number" : "a text"));
  }
}

OrderedJson DescribeGraph(const fs::path& path) {
  const OpGraph graph = LoadGraph(path);
  std::map<std::string, double> cost_us;  // By kind; ops of uniform cost count for every kind.
  double everywhere_us = 0;
  int64_t edges = 0;
  int64_t output_bytes = 0;
  double flops = 0;
  std::map<std::string, int64_t> types;
  for (const Op& op : graph.ops()) {
    edges += static_cast<int64_t>(op.inputs.size());
    output_bytes += op.OutputBytes();
    flops += op.flops;
    ++types[op.type];
    if (op.cost.is_uniform()) everywhere_us += op.cost.everywhere_us();
    const std::vector<double>& us = op.cost.us_by_kind();
    for (size_t kind = 0; kind < us.size(); ++kind) cost_us[op.cost.kinds()[kind]] += us[kind];
  }
  OrderedJson total = OrderedJson::object();
  if (cost_us.empty()) total["any"] = everywhere_us;
  for (const auto& [kind, us] : cost_us) total[kind] = us + everywhere_us;
  return {{"what", "graph (emplace.graph/1)"},
          {"name", graph.name()},
          {"ops", graph.num_ops()},
          {"edges", edges},
          {"total_cost_us", total},
          {"flops", flops},
          {"output_bytes", output_bytes},
          {"param_bytes", graph.ParameterBytes()},
          {"op_types", types}};
}

// Each of the planner's parameters: what it is, and what it was before it was learned.
OrderedJson DescribePlanner(const PolicyWeights& policy) {
  const std::shared_ptr<const PlannerParameters> learned = MeanPlanner(policy);
  OrderedJson description = OrderedJson::object();
  for (const PlannerParameter& parameter : PlannerParameterTable()) {
    description[parameter.name] = {{"value", parameter.get(*learned)}, {"by_hand", parameter.start}};
  }
  return description;
}

OrderedJson DescribePolicy(const fs::path& path) {
  const PolicyWeights policy = LoadPolicy(path);
  OrderedJson description = {{"what", "policy (emplace.policy/1)"},
                             {"kind", policy.shape.kind},
                             {"version", policy.version},
                             {"parameters", policy.values.size()},
                             {"devices", policy.shape.num_devices}};
  for (const SizeField& size : FindPolicyKind(policy.shape.kind).Sizes()) {
    const int64_t value = policy.shape.sizes.at(size.name);
    const bool is_truth_value = size.low == 0 && size.high == 1;
    description[size.name] = is_truth_value ? OrderedJson(value == 1) : OrderedJson(value);
  }
  if (FindPolicyKind(policy.shape.kind).plans()) description["planner"] = DescribePlanner(policy);
  description["metadata"] = policy.metadata;
  return description;
}

OrderedJson DescribePlacement(const OrderedJson& file, const fs::path& path) {
  if (!file.contains("ops") || !file["ops"].is_object()) {
    throw BadInput(StrCat(path.string(),
                          ": is an emplace.placement/1 without 'ops', expected an object with the device of each op"));
  }
  std::map<std::string, int64_t> ops_by_device;
  for (const auto& [op, device] : file["ops"].items()) {
    if (!device.is_number_integer()) {
      throw BadInput(StrCat(path.string(), ": op '", op, "' is on ", device.dump(), ", expected a device index"));
    }
    ++ops_by_device[device.dump()];
  }
  return {{"what", "placement (emplace.placement/1)"},
          {"devices", file.value("devices", OrderedJson::array())},
          {"ops", file["ops"].size()},
          {"ops_by_device_index", ops_by_device}};
}

OrderedJson DescribeJson(const fs::path& path) {
  const std::string text = ReadFile(path);
  const OrderedJson file = OrderedJson::parse(text, nullptr, /*allow_exceptions=*/false);
  if (file.is_array()) return {{"what", "placement (bare array of device indices)"}, {"ops", file.size()}};
  // LoadGraph says line and column of what is broken.
  if (!file.is_object()) return DescribeGraph(path);
  const std::string format =
      file.contains("format") && file["format"].is_string() ? file["format"].get<std::string>() : "";
  if (format.starts_with("emplace.graph/")) return DescribeGraph(path);
  ParseJson(text, path.string());  // Refuses a key that is given twice.
  if (format.starts_with("emplace.placement/")) {
    CheckFormat(format, "emplace.placement/1", path.string());
    return DescribePlacement(file, path);
  }
  if (format.starts_with("emplace.split/")) {
    CheckFormat(format, "emplace.split/1", path.string());
    return {{"what", "split of a graph family (emplace.split/1)"},
            {"family", MemberOr(file, "family", std::string(), path)},
            {"train", file.value("train", OrderedJson::array()).size()},
            {"test", file.value("test", OrderedJson::array()).size()}};
  }
  if (file.contains("total") && file.contains("actors")) {
    return {{"what", "ledger of a training run"}, {"total", file["total"]}, {"actors", file["actors"].size()}};
  }
  if (file.contains("results") && file.contains("settings")) {
    return {{"what", "results of an evaluation"}, {"results", file["results"].size()}, {"settings", file["settings"]}};
  }
  if (file.contains("updates") && file.contains("train_seconds"))
    return {{"what", "summary of a training run"}, {"summary", file}};
  if (!format.empty()) return {{"what", format}, {"keys", file.size()}};
  throw BadInput(StrCat(path.string(), ": is JSON without a 'format', expected a file that Emplace writes"));
}

// What is secret stays so.
OrderedJson DescribeKeys(const fs::path& path) {
  if (path.filename().string().starts_with("actor")) {
    const ActorKeys keys = LoadActorKeys(path);
    return {{"what", "keys of actors (emplace.keys/1)"}, {"public", keys.public_key}, {"learner", keys.learner}};
  }
  const LearnerKeys keys = LoadLearnerKeys(path);
  return {{"what", "keys of a learner (emplace.keys/1)"}, {"public", keys.public_key}, {"lets in", keys.actors.size()}};
}

OrderedJson DescribeLinks(const Topology& topology) {
  OrderedJson links = OrderedJson::array();
  for (const TopologyLink& link : topology.links) {
    links.push_back(
        {{"name", link.name},
         {"between", {topology.nodes[static_cast<size_t>(link.a)], topology.nodes[static_cast<size_t>(link.b)]}},
         {"bandwidth_bytes_per_us", link.bandwidth_bytes_per_us},
         {"latency_us", link.latency_us}});
  }
  return links;
}

OrderedJson DescribeConfiguration(const fs::path& path, const std::vector<std::string>& overrides) {
  const RunConfig config = LoadRunConfig(path, overrides);
  return {{"what", "run configuration"},
          {"name", config.name},
          {"family", config.workload.family},
          {"devices", config.workload.devices},
          {"iterations", config.training.iterations},
          {"max_minutes", config.training.max_minutes}};
}

OrderedJson DescribeYaml(const fs::path& path) {
  const YAML::Node root = LoadYaml(ReadFile(path), path.string());
  if (root.IsMap() && root["devices"]) {
    const Cluster cluster = LoadCluster(path);
    OrderedJson devices = OrderedJson::array();
    for (const Device& device : cluster.devices) {
      devices.push_back({{"name", device.name}, {"kind", device.kind}, {"memory_bytes", device.memory_bytes}});
    }
    OrderedJson described = {{"what", "devices"},
                             {"devices", devices},
                             {"op_overhead_us", cluster.op_overhead_us},
                             {"link_model", LinkModelName(cluster.link_model)}};
    if (cluster.link_model == LinkModel::kTopology) {
      described["links"] = DescribeLinks(cluster.topology);
    } else {
      described["bandwidth_bytes_per_us"] = cluster.bandwidth_bytes_per_us;
      described["transfer_latency_us"] = cluster.transfer_latency_us;
    }
    described["transfer_overhead_us"] = cluster.transfer_overhead_us;
    described["memory_rule"] = MemoryRuleName(cluster.memory_rule);
    return described;
  }
  if (root.IsMap() && (root["kind"] || root["kinds"])) {
    OrderedJson names;
    for (const DeviceKind& kind : LoadKindsOfFile(path)) names.push_back(kind.name);
    if (root["kind"]) return {{"what", "device kind (cost model)"}, {"kind", names.front()}};
    return {{"what", "device kinds (cost model)"}, {"kinds", std::move(names)}};
  }
  return DescribeConfiguration(path, {});
}

OrderedJson DescribeLines(const fs::path& path) {
  const std::string text = ReadFile(path);
  int64_t lines = 0;
  OrderedJson last;
  for (const std::string& line : Split(text, '\n')) {
    if (line.empty()) continue;
    last = OrderedJson::parse(line, nullptr, /*allow_exceptions=*/false);
    ++lines;
    if (last.is_discarded()) throw BadInput(StrCat(path.string(), ":", lines, ": not a JSON object"));
  }
  const bool placements = last.is_object() && last.contains("makespan_us");
  return {{"what", placements ? "best placements that a training run has found" : "metrics of a training run"},
          {"lines", lines},
          {"last", last}};
}

OrderedJson DescribeFolder(const fs::path& path) {
  if (fs::exists(path / "state.json") && fs::exists(path / "policy.safetensors")) {
    const OrderedJson state = OrderedJson::parse(ReadFile(path / "state.json"), nullptr, /*allow_exceptions=*/false);
    if (!state.is_object()) throw BadInput(StrCat((path / "state.json").string(), ": damaged, expected a JSON object"));
    return {{"what", "checkpoint"},
            {"updates", MemberOr(state, "updates", int64_t{0}, path / "state.json")},
            {"policy", DescribePolicy(path / "policy.safetensors")}};
  }
  if (fs::exists(path / "config.yaml") && fs::exists(path / "checkpoints")) {
    OrderedJson described = {{"what", "run directory"}, {"config", DescribeYaml(path / "config.yaml")}};
    if (fs::exists(path / "policy.safetensors")) described["policy"] = DescribePolicy(path / "policy.safetensors");
    if (fs::exists(path / "ledger.json")) described["ledger"] = DescribeJson(path / "ledger.json");
    return described;
  }
  if (fs::exists(path / "split.json")) return DescribeJson(path / "split.json");
  if (fs::exists(path / "index.json")) return DescribeJson(path / "index.json");  // Placements of a run.
  if (fs::exists(path / "policy.safetensors")) return DescribePolicy(path / "policy.safetensors");  // The best one.
  if (const std::vector<fs::path> checkpoints = CheckpointsNewestFirst(path); !checkpoints.empty()) {
    OrderedJson names = OrderedJson::array();
    for (const fs::path& checkpoint : checkpoints) names.push_back(checkpoint.filename().string());
    return {{"what", "checkpoints of a training run, the newest first"}, {"checkpoints", names}};
  }
  throw BadInput(StrCat(path.string(),
                        ": is a folder of something else, expected a run directory, its checkpoints or placements, or "
                        "a family of graphs"));
}

OrderedJson Describe(const fs::path& path) {
  const std::string name = path.filename().string();
  if (!fs::exists(path))
    throw BadInput(StrCat(path.string(), ": does not exist, expected a file or folder of Emplace"));
  if (fs::is_directory(path)) return DescribeFolder(path);
  if (IsGraphFile(path)) return DescribeGraph(path);
  if (name.ends_with(".safetensors")) return DescribePolicy(path);
  if (name.ends_with(".json")) return DescribeJson(path);
  if (name.ends_with(".jsonl")) return DescribeLines(path);
  if (name.ends_with(".keys")) return DescribeKeys(path);
  if (name.ends_with(".yaml") || name.ends_with(".yml")) return DescribeYaml(path);
  if (name.find("tfevents") != std::string::npos) {
    return {{"what", "TensorBoard event file"}, {"bytes", fs::file_size(path)}};
  }
  throw BadInput(StrCat(path.string(), ": unknown kind of file, expected *.graph.json[.zst], *.json, *.jsonl, *.yaml, ",
                        "*.safetensors, *.keys, an event file or a run directory"));
}

void PrintText(const OrderedJson& value, int indent) {
  for (const auto& [key, member] : value.items()) {
    if (member.is_object() && !member.empty()) {
      std::printf("%*s%s\n", indent, "", key.c_str());
      PrintText(member, indent + 2);
    } else {
      std::printf("%*s%-22s %s\n", indent, "", key.c_str(),
                  member.is_string() ? member.get<std::string>().c_str() : member.dump().c_str());
    }
  }
}

int Inspect(const std::string& path, const std::vector<std::string>& overrides, bool json) {
  // What has values to replace can only be a configuration.
  const OrderedJson described = overrides.empty() ? Describe(path) : DescribeConfiguration(path, overrides);
  if (json) {
    std::printf("%s\n", JsonLine(described).c_str());
  } else {
    PrintText(described, 0);
  }
  return 0;
}

}  // namespace

void AddInspectCommand(CLI::App& app, std::function<int()>& run) {
  struct Arguments {
    std::string path;
    std::vector<std::string> overrides;
    bool json = false;
  };
  auto args = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("inspect", "Describe a file or folder of Emplace");
  command
      ->add_option(
          "file", args->path,
          "File or folder to describe: a graph, cluster file, configuration, placement, policy, checkpoint, run "
          "directory, ...")
      ->required();
  command
      ->add_option("--set", args->overrides,
                   "Replace a value of the configuration before it is checked, as section.key=value; may be repeated")
      ->take_all();
  command->add_flag("--json", args->json, "Print the description as one JSON document");
  command->callback([args, &run] { run = [args] { return Inspect(args->path, args->overrides, args->json); }; });
}

}  // namespace emplace
