#include "tools/cli/place_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/files/json_text.h"
#include "common/strings.h"
#include "simulator/methods/placement_scorer.h"

namespace emplace {

PlaceReport::PlaceReport(const OpGraph& graph, const Cluster& cluster, const std::string& method, Objective objective,
                         const PlacedGraph& placed)
    : graph_(graph), cluster_(cluster), method_(method), objective_(objective), placed_(placed) {
  const ChosenPlacement& chosen = placed.chosen;
  if (const std::optional<ServedStep> step = ServedStepOf(graph)) {
    serving_ = Serving(graph, cluster, *step, chosen.placement, chosen.score.peak_bytes, chosen.score.makespan_us,
                       chosen.score.max_load_us, chosen.orders);
  }
}

std::string PlaceReport::Json() const {
  const MethodScore& score = placed_.chosen.score;
  std::vector<int64_t> left_bytes;  // [D]
  for (size_t d = 0; d < cluster_.devices.size(); ++d) left_bytes.push_back(LeftBytes(d));
  nlohmann::ordered_json document = {{"graph", graph_.name()},
                                     {"method", method_},
                                     {"found_by", placed_.found_by},
                                     {"makespan_us", score.makespan_us},
                                     {"max_load_us", score.max_load_us},
                                     {"single_device_us", placed_.task.single_device_us},
                                     {"lower_bound_us", placed_.lower_bound_us},
                                     {"peak_bytes", score.peak_bytes},
                                     {"left_bytes", left_bytes},
                                     {"feasible", score.feasible},
                                     {"groups", placed_.task.groups.num_groups},
                                     {"evaluations", placed_.result.evaluations},
                                     {"seconds", placed_.seconds}};
  if (objective_ == Objective::kThroughput) document["load_bound_us"] = placed_.load_bound_us;
  if (!placed_.chosen.discipline.empty()) document["order"] = placed_.chosen.discipline;
  if (serving_) {
    document["llm"] = {{"stream_tokens_per_s", serving_->stream_tokens_per_s},
                       {"pipeline_tokens_per_s", serving_->pipeline_tokens_per_s},
                       {"first_token_s", serving_->first_token_s},
                       {"longest_context", serving_->longest_context},
                       {"limited_by", serving_->limited_by}};
  }
  return JsonLine(document) + "\n";
}

std::string PlaceReport::Text() const {
  const MethodScore& score = placed_.chosen.score;
  const std::string& discipline = placed_.chosen.discipline;
  const int64_t evaluations = placed_.result.evaluations;
  std::string text = Format("%s: %d ops on %d devices, method %s\n", graph_.name().c_str(), graph_.num_ops(),
                            cluster_.num_devices(), method_.c_str());
  if (placed_.chosen.fallback) text += Fallback();
  text += Format("  predicted step time  %.3f ms\n", score.makespan_us / 1e3);
  if (objective_ == Objective::kThroughput) {
    text += Format("  busiest device       %.3f ms for each step of a pipeline, %.3f ms at least\n",
                   score.max_load_us / 1e3, placed_.load_bound_us / 1e3);
  }
  if (!discipline.empty()) text += StrCat("  order of the ops     ", discipline, "\n");
  if (serving_) text += ShownServing(*serving_, "  ");
  text += SingleDevice();
  if (score.feasible && placed_.lower_bound_us > 0) {
    text += Format("  lower bound          %.3f ms: at most %.0f%% from the best possible\n",
                   placed_.lower_bound_us / 1e3, 100 * (score.makespan_us / placed_.lower_bound_us - 1));
  }
  text += Devices();
  if (!score.feasible) {
    text += StrCat("  WARNING: it does not fit the devices' memory: it lacks ", MissingMemory(), "\n");
  }
  return text + StrCat("  placed in ", ShownSeconds(placed_.seconds), " with ", evaluations, " simulated placement",
                       evaluations == 1 ? "" : "s", ", found by ", placed_.found_by, "\n");
}

std::string PlaceReport::Fallback() const {
  std::string why = "it found no legal placement";
  if (placed_.result.placement && !placed_.found.feasible) {
    why = placed_.chosen.score.feasible ? "its placement does not fit the devices' memory"
                                        : "its placement lacks more memory";
  } else if (placed_.result.placement) {
    why = Format("a step of its placement takes %.3f ms", placed_.found.makespan_us / 1e3);
  }
  return StrCat("  fallback             everything is on the best single device, which is better than what ", method_,
                " found: ", why, "\n");
}

std::string PlaceReport::SingleDevice() const {
  const PlacementTask& task = placed_.task;
  if (task.single_device < 0) return "  best single device   none may run every op\n";
  std::string text = Format("  best single device   %.3f ms on %s", task.single_device_us / 1e3,
                            cluster_.devices[static_cast<size_t>(task.single_device)].name.c_str());
  // A graph of ops that cost nothing takes no time anywhere. One device is busy for its whole step.
  const double us = placed_.chosen.score.Us(objective_);
  if (us > 0) {
    const char* const compared = objective_ == Objective::kThroughput ? "often" : "fast";
    text += Format(": %.3f times as %s", task.single_device_us / us, compared);
  }
  const Placement single(static_cast<size_t>(task.sim.num_ops), task.single_device);
  if (PlacementScorer(task).Score(single).bytes_over > 0) {
    text += ", but it does not fit that device";
    if (!placed_.chosen.orders.empty()) text += " as ops get ready";
  }
  return text + "\n";
}

std::string PlaceReport::Devices() const {
  const Placement& placement = placed_.chosen.placement;
  std::string text;
  for (size_t d = 0; d < cluster_.devices.size(); ++d) {
    const auto ops = std::count(placement.begin(), placement.end(), static_cast<DeviceIndex>(d));
    const int64_t left = LeftBytes(d);
    text += Format("  %-12s %6td ops, peak memory %.2f of %.2f GB%s\n", cluster_.devices[d].name.c_str(), ops,
                   static_cast<double>(placed_.chosen.score.peak_bytes[d]) / 1e9,
                   static_cast<double>(cluster_.devices[d].memory_bytes) / 1e9,
                   left < 0 ? "" : Format(", %.2f left", static_cast<double>(left) / 1e9).c_str());
  }
  return text;
}

std::string PlaceReport::MissingMemory() const {
  std::vector<std::string> missing;
  for (size_t d = 0; d < cluster_.devices.size(); ++d) {
    const int64_t bytes = -LeftBytes(d);
    if (bytes > 0) missing.push_back(StrCat(ShownBytes(static_cast<double>(bytes)), " on ", cluster_.devices[d].name));
  }
  return Join(missing, ", ");
}

}  // namespace emplace
