#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/run_files.h"
#include "api/run_policy.h"
#include "common/command_line.h"
#include "common/config/field_table.h"
#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/json_text.h"
#include "common/files/output_files.h"
#include "common/strings.h"
#include "policy/policy_kinds.h"
#include "policy/policy_weights.h"
#include "tools/cli/commands.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

struct ExportArguments {
  std::string run;
  std::string policy;  // Where it goes; empty: nowhere.
  std::string onnx;    // Likewise.
  std::string graph;
  std::string placement;  // Where it goes; empty: nowhere.
  bool json = false;
};

// null: no graph that was evaluated has one, or it is not known.
OrderedJson ValidationRatio(const PolicyWeights& policy) {
  const auto found = policy.metadata.find("validation_ratio");
  if (found == policy.metadata.end()) return nullptr;
  const double ratio = std::atof(found->second.c_str());
  return ratio > 0 ? OrderedJson(ratio) : OrderedJson(nullptr);
}

OrderedJson Described(const RunPolicy& policy) {
  return {{"version", policy.weights.version},
          {"validation_ratio", ValidationRatio(policy.weights)},
          {"file", policy.file}};
}

struct FoundGraph {
  // {"graph", "sampled_episodes", "sampled_steps", and, null where nothing is found: "makespan_us", ...}
  OrderedJson described;
  std::string bytes;  // Of its placement's file; empty: no placement that fits has been found yet.
};

FoundGraph ReadGraph(const fs::path& folder, const nlohmann::json& entry) {
  const std::string file = entry.at("file");
  const fs::path path = folder / file;
  if (path.filename() != file)
    throw BadInput(StrCat(path.string(), ": is no file of ", folder.string(), ", expected a name without a folder"));
  FoundGraph graph;
  nlohmann::json found;
  if (fs::exists(path)) {
    graph.bytes = ReadFile(path);
    const nlohmann::json placement = ParseJson(graph.bytes, path.string());
    found = placement.at("found");
  }
  graph.described["graph"] = entry.at("graph").get<std::string>();
  for (const std::string key : {"makespan_us", "ratio", "episodes", "steps", "update", "seconds"}) {
    const nlohmann::json value = graph.bytes.empty() ? nlohmann::json() : found.at(key);
    const bool may_be_null = graph.bytes.empty() || key == "ratio";
    if (!value.is_number() && !(may_be_null && value.is_null())) {
      throw BadInput(StrCat(path.string(), ": '", key, "' is ", ShownJson(value), ", expected a number"));
    }
    graph.described[key] = value;
  }
  graph.described["sampled_episodes"] = entry.at("episodes").get<int64_t>();
  graph.described["sampled_steps"] = entry.at("steps").get<int64_t>();
  return graph;
}

// The training graphs, in the run's order. Empty before it trains.
std::vector<FoundGraph> ReadGraphs(const fs::path& run) {
  std::vector<FoundGraph> graphs;
  const fs::path folder = run / "placements";
  const fs::path path = folder / "index.json";
  if (!fs::exists(path)) return graphs;
  const nlohmann::json index = ParseJson(ReadFile(path), path.string());
  try {
    for (const nlohmann::json& entry : index.at("graphs")) graphs.push_back(ReadGraph(folder, entry));
  } catch (const nlohmann::json::exception& error) {
    throw BadInput(StrCat(path.string(), ": it or a file that it names is damaged: ", error.what()));
  }
  return graphs;
}

const FoundGraph& FindGraph(const std::vector<FoundGraph>& graphs, const std::string& name, const std::string& run) {
  std::vector<std::string> names;
  for (const FoundGraph& graph : graphs) {
    names.push_back(graph.described["graph"]);
    if (names.back() != name) continue;
    if (graph.bytes.empty())
      throw BadInput(StrCat(run, ": no placement of graph '", name, "' that fits in memory is found yet"));
    return graph;
  }
  if (names.empty())
    throw BadInput(StrCat(run, ": knows no graph '", name, "', nor any other: it has not trained yet"));
  throw BadInput(StrCat(run, ": knows no graph '", name, "'", DidYouMean(name, names)));
}

std::string Shown(const OrderedJson& ratio) { return ShownRatio(ratio.is_null() ? std::nan("") : ratio.get<double>()); }

std::string ShownPolicy(const RunPolicy& policy) {
  std::string text = StrCat("policy of version ", policy.weights.version);
  if (const OrderedJson ratio = ValidationRatio(policy.weights); !ratio.is_null()) {
    text += StrCat(", makespan / one device ", Shown(ratio));
    // A run without validation graphs is judged on those that it is trained on.
    const auto graphs = policy.weights.metadata.find("evaluated_on");
    if (graphs != policy.weights.metadata.end()) text += StrCat(" on the ", graphs->second, " graphs");
  }
  return StrCat(text, ": ", policy.file);
}

void PrintTable(const std::vector<FoundGraph>& graphs) {
  size_t width = 5;
  for (const FoundGraph& graph : graphs)
    width = std::max(width, graph.described["graph"].get_ref<const std::string&>().size());
  std::printf("%-*s %20s %8s %10s %10s\n", static_cast<int>(width), "graph", "makespan_us", "ratio", "at episode",
              "of");
  for (const FoundGraph& graph : graphs) {
    const OrderedJson& row = graph.described;
    const auto shown = [&](const char* key) { return row[key].is_null() ? "-" : row[key].dump(); };
    std::printf("%-*s %20s %8s %10s %10s\n", static_cast<int>(width),
                row["graph"].get_ref<const std::string&>().c_str(), shown("makespan_us").c_str(),
                Shown(row["ratio"]).c_str(), shown("episodes").c_str(), shown("sampled_episodes").c_str());
  }
}

int Overview(const ExportArguments& args) {
  const std::optional<RunPolicy> policy = BestPolicyIfAny(args.run);
  const std::vector<FoundGraph> graphs = ReadGraphs(args.run);
  if (args.json) {
    OrderedJson document = {{"policy", policy ? Described(*policy) : OrderedJson(nullptr)},
                            {"graphs", OrderedJson::array()}};
    for (const FoundGraph& graph : graphs) document["graphs"].push_back(graph.described);
    std::printf("%s\n", JsonLine(document).c_str());
    return 0;
  }
  std::printf("%s\n", policy ? ShownPolicy(*policy).c_str() : "no policy yet: there is no checkpoint");
  PrintTable(graphs);
  return 0;
}

int Export(const ExportArguments& args) {
  const fs::path run(args.run);
  if (!fs::exists(run / "config.yaml")) throw BadInput(StrCat(args.run, ": holds no run, expected a run directory"));
  if (args.policy.empty() && args.onnx.empty() && args.placement.empty()) return Overview(args);

  CheckOutputFiles({{"--policy", args.policy}, {"--onnx", args.onnx}, {"--placement", args.placement}},
                   InputFiles(StrCat("run '", args.run, "'"), run));
  // All that can be wrong with what is asked for comes before the first file.
  std::optional<RunPolicy> policy;
  if (!args.policy.empty() || !args.onnx.empty()) policy = BestPolicy(run);
  const std::string onnx = args.onnx.empty() ? "" : PolicyToOnnx(policy->weights);
  std::optional<FoundGraph> graph;
  if (!args.placement.empty()) graph = FindGraph(ReadGraphs(run), args.graph, args.run);

  OrderedJson document = OrderedJson::object();
  if (policy) document["policy"] = Described(*policy);
  if (!args.policy.empty()) {
    WriteFileAtomically(args.policy, policy->bytes);
    document["policy"]["written"] = args.policy;
  }
  if (!args.onnx.empty()) {
    WriteFileAtomically(args.onnx, onnx);
    document["policy"]["onnx"] = args.onnx;
  }
  if (graph) {
    WriteFileAtomically(args.placement, graph->bytes);
    document["placement"] = graph->described;
    document["placement"]["written"] = args.placement;
  }
  if (args.json) {
    std::printf("%s\n", JsonLine(document).c_str());
    return 0;
  }
  for (const std::string& written : {args.policy, args.onnx}) {
    if (!written.empty()) std::printf("%s, written to %s\n", ShownPolicy(*policy).c_str(), written.c_str());
  }
  if (graph) {
    const OrderedJson& row = graph->described;
    std::printf("%s: %s us, makespan / one device %s, found at episode %s, written to %s\n", args.graph.c_str(),
                row["makespan_us"].dump().c_str(), Shown(row["ratio"]).c_str(), row["episodes"].dump().c_str(),
                args.placement.c_str());
  }
  return 0;
}

}  // namespace

void AddExportCommand(CLI::App& app, std::function<int()>& run) {
  auto args = std::make_shared<ExportArguments>();
  CLI::App* command =
      app.add_subcommand("export", "Copy the best policy and placements found so far out of a run directory");
  command->add_option("run", args->run, "Run directory; its run may still be going on")->required();
  command->add_option("--policy", args->policy, "File to write the best policy to, *.safetensors")->check(NotEmpty());
  command
      ->add_option("--onnx", args->onnx,
                   StrCat("File to write the best policy to as an ONNX model, *.onnx; its inputs say what they hold. "
                          "For policies of kind ",
                          Join(PolicyKindNames(&PolicyKind::writes_onnx), ", ")))
      ->check(NotEmpty());
  CLI::Option* const graph = command->add_option(
      "--graph", args->graph, "Name of the training graph whose best placement to write; needs --placement");
  CLI::Option* const placement =
      command->add_option("--placement", args->placement, "File to write the best placement of --graph to, *.json")
          ->check(NotEmpty());
  graph->needs(placement);
  placement->needs(graph);
  command->add_flag("--json", args->json, "Print the result as one JSON document");
  command->callback([args, &run] { run = [args] { return Export(*args); }; });
}

}  // namespace emplace
