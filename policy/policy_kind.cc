#include "policy/policy_kind.h"

#include <algorithm>

#include "common/error.h"
#include "common/strings.h"
#include "policy/model.h"
#include "policy/player.h"
#include "simulator/methods/planner_parameters.h"
#include "simulator/task/group_graph.h"

namespace emplace {
namespace {

std::optional<std::string> CheckDevices(const GroupGraph& graph, const std::vector<uint8_t>& devices,
                                        const char* what) {
  const std::optional<size_t> group = graph.FirstMisplaced(devices);
  if (!group) return std::nullopt;
  return StrCat(what, " puts group ", *group, " on device ", int{devices[*group]}, ", where it may not go");
}

}  // namespace

bool Balances(const PolicyShape& shape) {
  const auto size = shape.sizes.find(kBalanced);
  return size != shape.sizes.end() && size->second == 1;
}

PlannerParameters PolicyKind::PlannerOf(std::span<const float> /*parameters*/) const {
  EMPLACE_CHECK(false);
  return {};
}

std::unique_ptr<Player> PolicyKind::MakePlayer(const PolicyShape& /*shape*/) const {
  throw BadInput(StrCat("a policy of kind ", name(), " places whole graphs, expected one that decides for groups"));
}

std::unique_ptr<Model> PolicyKind::MakeModel(const PolicyShape& /*shape*/,
                                             const std::vector<PlacementTask>& /*tasks*/) const {
  throw BadInput(StrCat("a policy of kind ", name(), " has no gradient, expected training.objective: evolution"));
}

std::string PolicyKind::WhyNoGpu(const PolicyShape& /*shape*/) const {
  return StrCat("policies of kind ", name(), " learn on the CPU alone");
}

std::unique_ptr<Model> PolicyKind::MakeGpuModel(const PolicyShape& shape, const std::vector<PlacementTask>& /*tasks*/,
                                                int32_t /*gpu*/) const {
  throw RunFailed(WhyNoGpu(shape));
}

std::string PolicyKind::ToOnnx(const PolicyWeights& /*weights*/) const {
  EMPLACE_CHECK(false);
  return {};
}

std::optional<std::string> PolicyKind::CheckDecisions(const PlacementTask& task, const Trajectory& trajectory) const {
  const auto n = static_cast<size_t>(task.groups.num_groups);
  const size_t start = reward_time() == RewardTime::kEachDecision ? n : 0;
  if (trajectory.start_placement.size() != start || trajectory.actions.size() != n) {
    return StrCat("its arrays do not fit the ", n, " groups of graph ", trajectory.graph);
  }
  if (auto reason = CheckDevices(task.groups, trajectory.start_placement, "the start placement")) return reason;
  return CheckDevices(task.groups, trajectory.actions, "an action");
}

void PolicyKind::PlacementAt(const PlacementTask& /*task*/, const Trajectory& trajectory, size_t point,
                             std::span<uint8_t> groups) const {
  PlacementAfter(trajectory, reward_time() == RewardTime::kEachDecision ? point : trajectory.actions.size(), groups);
}

const char* ToString(RewardTime time) { return time == RewardTime::kEachDecision ? "each_decision" : "end"; }

size_t NumEntries(const ParameterSpec& parameter) {
  size_t entries = 1;
  for (const int64_t extent : parameter.shape) entries *= static_cast<size_t>(extent);
  return entries;
}

void AddLinear(const std::string& name, int64_t in, int64_t out, std::vector<ParameterSpec>& parameters) {
  parameters.push_back({name + ".weight", {out, in}});
  parameters.push_back({name + ".bias", {out}});
}

}  // namespace emplace
