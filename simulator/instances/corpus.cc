#include "simulator/instances/corpus.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/graph/graph_io.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 9> kReserved = {"resnet",     "densenet",   "inception", "vgg", "alexnet",
                                                       "squeezenet", "shufflenet", "zfnet",     "gnmt"};

// In the graph's topological order, without calls and shapes.
std::vector<Op> OrderedOps(const OpGraph& graph) {
  const std::vector<OpIndex>& order = graph.topological_order();
  std::vector<OpIndex> place(order.size());
  for (size_t i = 0; i < order.size(); ++i) place[static_cast<size_t>(order[i])] = static_cast<OpIndex>(i);
  std::vector<Op> ops;
  for (const OpIndex op : order) {
    ops.push_back(graph.op(op));
    for (OpInput& input : ops.back().inputs) input.producer = place[static_cast<size_t>(input.producer)];
    ops.back().call_json.clear();
    for (OpOutput& output : ops.back().outputs) output.shape.reset();
    if (ops.back().copy_of != Op::kNoCopy) ops.back().copy_of = place[static_cast<size_t>(ops.back().copy_of)];
  }
  return ops;
}

// Gives each op its cost on one kind; on another where it has none there.
void KeepOneKind(Rng& rng, std::vector<Op>& ops) {
  std::set<std::string> names;
  for (const Op& op : ops) {
    names.insert(op.cost.kinds().begin(), op.cost.kinds().end());
  }
  const std::vector<std::string> kinds(names.begin(), names.end());
  const std::string kind = kinds.empty() ? "" : OneOf(rng, kinds);
  for (Op& op : ops) {
    const std::optional<double> us = op.cost.On(kind);
    const double other = op.cost.us_by_kind().empty() ? 0 : op.cost.us_by_kind().front();
    op.cost = OpCost::Everywhere(us.value_or(other));
    op.allowed.clear();
  }
}

}  // namespace

bool IsReserved(const std::string& graph_name) {
  std::string name = graph_name;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (std::ranges::any_of(kReserved, [&](std::string_view word) { return name.find(word) != std::string::npos; })) {
    return true;
  }
  // Only the plain BERT is reserved, and its name is part of those of its many successors.
  const size_t at = name.find("bert");
  if (at == std::string::npos) return false;
  return at == 0 || std::isalnum(static_cast<unsigned char>(name[at - 1])) == 0;
}

Corpus::Corpus(const std::string& folder, InstancePart part, int32_t min_ops, int32_t most_ops) {
  if (folder.empty()) return;
  if (!fs::is_directory(folder)) throw BadInput(StrCat("corpus ", folder, ": is no folder"));
  const fs::path of_part = fs::path(folder) / NameOf(part);
  if (!fs::is_directory(of_part)) return;
  std::vector<std::string> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(of_part)) {
    if (IsGraphFile(entry.path())) paths.push_back(entry.path().string());
  }
  std::ranges::sort(paths);
  for (const std::string& path : paths) {
    std::string name = fs::path(path).filename().string();
    name.resize(name.rfind(".graph.json"));
    if (part == InstancePart::kTrain && IsReserved(name)) {
      throw BadInput(StrCat(path, ": is a graph of an architecture that training may not see (simulator/instances/",
                            "README.md), expected none in this folder"));
    }
    const OpGraph graph = LoadGraph(path);
    if (graph.num_ops() < min_ops || graph.num_ops() > most_ops) continue;
    files_.push_back({path, name, GraphToJson(OpGraph(graph.name(), OrderedOps(graph)))});
  }
}

Corpus::Draw Corpus::DrawOps(Rng& rng) const {
  const File& file = OneOf(rng, files_);
  Draw draw = {file.name, ParseGraph(file.json, file.path).ops()};
  KeepOneKind(rng, draw.ops);
  return draw;
}

}  // namespace emplace
