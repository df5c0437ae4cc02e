#include "learner/intake/placement_files.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/json_text.h"
#include "common/log.h"
#include "common/strings.h"
#include "simulator/methods/placement_scorer.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr char kIndexFile[] = "index.json";
constexpr char kIndexFormat[] = "emplace.placements/1";
constexpr char kPlacementSuffix[] = ".placement.json";

// A graph without a name is called after its path, which need not be UTF-8.
std::string Dump(const OrderedJson& json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, OrderedJson::error_handler_t::replace);
}

// What looks harmless in every shell and on every file system.
std::string FileStem(const std::string& name) {
  constexpr size_t kLongest = 100;
  std::string stem = name.substr(0, kLongest);
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  std::replace_if(
      stem.begin(), stem.end(), [&](char c) { return !is_plain(c); }, '_');
  if (stem.empty() || stem.front() == '.' || stem.front() == '-') stem.insert(stem.begin(), '_');
  return stem;
}

std::vector<std::string> NamesOf(const std::vector<PlacementTask>& tasks) {
  std::vector<std::string> names;
  for (const PlacementTask& task : tasks) names.push_back(task.name);
  return names;
}

FoundPlacement FoundFromJson(const nlohmann::json& json) {
  return {.makespan_us = json.at("makespan_us"),
          .sampled = {.episodes = json.at("episodes"), .steps = json.at("steps")},
          .update = json.at("update"),
          .seconds = json.at("seconds")};
}

}  // namespace

std::vector<std::string> DistinctNames(const std::vector<std::string>& names) {
  std::vector<std::string> distinct;
  std::set<std::string> used;
  for (const std::string& name : names) {
    std::string candidate = name;
    for (int64_t number = 2; !used.insert(candidate).second; ++number) candidate = StrCat(name, "-", number);
    distinct.push_back(std::move(candidate));
  }
  return distinct;
}

std::vector<std::string> DistinctFileStems(const std::vector<std::string>& names) {
  std::vector<std::string> stems;
  for (const std::string& name : names) stems.push_back(FileStem(name));
  return DistinctNames(stems);
}

PlacementFiles::PlacementFiles(const RunDirectory& dir, const Workload& workload, BestPlacements& best)
    : folder_(dir.placements()),
      lines_path_(dir.placement_lines()),
      workload_(workload),
      best_(best),
      names_(DistinctNames(NamesOf(workload.train))),
      stems_(DistinctFileStems(names_)) {
  EMPLACE_CHECK(workload.train_graphs.size() == workload.train.size());
  MakeFolder(folder_);
  const MutexLock lock(mu_);
  const std::vector<SampleCounts> counted = ReadIndex();
  std::vector<std::optional<FoundPlacement>> found;
  for (GraphId graph = 0; graph < workload_.train.size(); ++graph) {
    found.push_back(ReadBack(graph));
    // A killed process may have written a placement and not the index after it.
    SampleCounts counts = counted[graph];
    if (found.back() && found.back()->sampled.episodes > counts.episodes) counts = found.back()->sampled;
    best_.Restore(graph, counts, found.back());
  }
  MendLines(found);
  WriteIndex();
}

fs::path PlacementFiles::PathOf(GraphId graph) const { return folder_ / (stems_[graph] + kPlacementSuffix); }

std::optional<FoundPlacement> PlacementFiles::ReadBack(GraphId graph) {
  const fs::path path = PathOf(graph);
  if (!fs::exists(path)) return std::nullopt;
  Placement placement;
  FoundPlacement found;
  try {
    const std::string text = ReadFile(path);
    placement = ParsePlacement(text, path.string(), workload_.train_graphs[graph], workload_.cluster);
    const nlohmann::json file = ParseJson(text, path.string());
    found = FoundFromJson(file.at("found"));
  } catch (const std::exception& error) {
    Forget(graph, error.what());
    return std::nullopt;
  }
  const PlacementTask& task = workload_.train[graph];
  const double makespan_before_us = found.makespan_us;
  const SearchScore score = PlacementScorer(task).Score(placement);
  found.makespan_us = score.makespan_us;
  found.ratio = task.RatioToSingleDevice(found.makespan_us);
  if (score.bytes_over > 0) {
    Forget(graph, "it does not fit in memory");
    return std::nullopt;
  }
  // A resumed run may have been given another machine.
  if (found.makespan_us != makespan_before_us) WritePlacement(graph, placement, found);
  return found;
}

void PlacementFiles::Forget(GraphId graph, const std::string& reason) {
  LogWarning(StrCat("the best placement of ", names_[graph], " is forgotten: ", reason));
  forgotten_.push_back(graph);
}

void PlacementFiles::Write() {
  const MutexLock lock(mu_);
  for (const GraphId graph : std::exchange(forgotten_, {})) fs::remove(PathOf(graph));
  std::map<GraphId, const BestPlacements::Improvement*> best;  // The last of each graph.
  const std::vector<BestPlacements::Improvement> all = best_.TakeImprovements();
  for (const BestPlacements::Improvement& improvement : all) best[improvement.graph] = &improvement;
  for (const auto& [graph, improvement] : best) {
    Placement placement(workload_.train[graph].group_of_op.size());
    workload_.train[graph].Expand(improvement->groups, placement);
    WritePlacement(graph, placement, improvement->found);
  }
  for (const BestPlacements::Improvement& improvement : all)
    lines_ << Line(improvement.graph, improvement.found) << "\n";
  lines_.flush();
  if (!lines_) throw WriteError(lines_path_);
  WriteIndex();
}

void PlacementFiles::WritePlacement(GraphId graph, const Placement& placement, const FoundPlacement& found) const {
  WriteFileAtomically(PathOf(graph),
                      PlacementToJson(workload_.train_graphs[graph], workload_.cluster, placement, Line(graph, found)));
}

std::vector<SampleCounts> PlacementFiles::ReadIndex() const {
  std::vector<SampleCounts> counts(workload_.train.size());
  const fs::path path = folder_ / kIndexFile;
  if (!fs::exists(path)) return counts;
  try {
    std::map<std::string, SampleCounts> by_file;
    const nlohmann::json index = ParseJson(ReadFile(path), path.string());
    for (const nlohmann::json& entry : index.at("graphs")) {
      by_file[entry.at("file")] = {.episodes = entry.at("episodes"), .steps = entry.at("steps")};
    }
    for (GraphId graph = 0; graph < counts.size(); ++graph) counts[graph] = by_file[PathOf(graph).filename()];
  } catch (const std::exception& error) {
    LogWarning(StrCat("the numbers of episodes and steps of earlier sittings are forgotten: ", error.what()));
  }
  return counts;
}

void PlacementFiles::WriteIndex() {
  const std::vector<SampleCounts> counts = best_.counts();
  OrderedJson graphs = OrderedJson::array();
  for (GraphId graph = 0; graph < counts.size(); ++graph) {
    graphs.push_back({{"graph", names_[graph]},
                      {"file", PathOf(graph).filename().string()},
                      {"episodes", counts[graph].episodes},
                      {"steps", counts[graph].steps}});
  }
  std::string text = Dump({{"format", kIndexFormat}, {"graphs", std::move(graphs)}}, 1) + "\n";
  if (text == index_) return;
  WriteFileAtomically(folder_ / kIndexFile, text);
  index_ = std::move(text);
}

void PlacementFiles::MendLines(const std::vector<std::optional<FoundPlacement>>& best) {
  std::string kept;
  std::map<std::string, double> last;  // Makespan by graph.
  if (fs::exists(lines_path_)) {
    for (const std::string& line : Split(ReadFile(lines_path_), '\n')) {
      const nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (!json.is_object() || !json.contains("graph") || !json["graph"].is_string()) continue;
      if (!json.contains("makespan_us") || !json["makespan_us"].is_number()) continue;
      kept += line + "\n";
      last[json["graph"]] = json["makespan_us"];
    }
  }
  for (GraphId graph = 0; graph < best.size(); ++graph) {
    if (best[graph] && last[names_[graph]] != best[graph]->makespan_us) kept += Line(graph, *best[graph]) + "\n";
  }
  WriteFileAtomically(lines_path_, kept);
  lines_.open(lines_path_, std::ios::app);
  if (!lines_) throw WriteError(lines_path_);
}

std::string PlacementFiles::Line(GraphId graph, const FoundPlacement& found) const {
  return Dump({{"graph", names_[graph]},
               {"makespan_us", found.makespan_us},
               {"ratio", found.ratio},
               {"episodes", found.sampled.episodes},
               {"steps", found.sampled.steps},
               {"update", found.update},
               {"seconds", found.seconds}});
}

}  // namespace emplace
