#include "learner/intake/measurement_audit.h"

#include <cmath>
#include <iterator>
#include <utility>

#include "common/strings.h"
#include "learner/ledger.h"

namespace emplace {
namespace {

constexpr size_t kMostHeld = 64;  // Episodes: bounds the memory.

}  // namespace

MeasurementAudit::MeasurementAudit(const std::vector<PlacementTask>& tasks, const PolicyKind& kind,
                                   const EnvironmentConfig& environment, const HardwareConfig& config, uint64_t seed)
    : tasks_(tasks),
      kind_(kind),
      config_(config),
      rng_(seed),
      checker_(tasks, kind, environment, config, seed),
      next_id_(rng_.Next()) {}

std::optional<MeasurementAudit::Order> MeasurementAudit::Begin(Trajectory& trajectory, const std::string& sender,
                                                               std::span<const ActorKey> measuring, Time now) {
  if (held_.size() >= kMostHeld || rng_.Uniform() >= config_.recheck) return std::nullopt;
  std::vector<ActorKey> others;
  for (const ActorKey& actor : measuring) {
    if (actor.actor_id != trajectory.actor.actor_id) others.push_back(actor);
  }
  if (others.empty()) return std::nullopt;
  Held held;
  held.asked = OneOf(rng_, others);
  held.point = rng_.Index(trajectory.rho.size());
  // It measures what it is at first, and perhaps something that hangs.
  held.due = now + std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(3 * config_.timeout_s));
  Order order{.to = held.asked, .request = {.id = next_id_++, .graph = trajectory.graph, .groups = {}}};
  const PlacementTask& task = tasks_[trajectory.graph];
  order.request.groups.resize(static_cast<size_t>(task.groups.num_groups));
  kind_.PlacementAt(task, trajectory, held.point, order.request.groups);
  held.trajectory = std::move(trajectory);
  held.sender = sender;
  held_.emplace(order.request.id, std::move(held));
  return order;
}

void MeasurementAudit::Answer(const MeasureReply& reply) {
  const auto found = held_.find(reply.id);
  if (found == held_.end() || found->second.asked != reply.actor) return;
  if (!std::isfinite(reply.makespan_us) || reply.makespan_us <= 0) return;
  Held held = std::move(found->second);
  held_.erase(found);
  const std::optional<std::string> reason = checker_.CheckAgain(held.trajectory, held.point, reply.makespan_us);
  verdicts_.push_back({.result = reason ? Result::kFalse : Result::kConfirmed,
                       .reason = reason ? StrCat(*reason, " by ", ActorName(reply.actor)) : "",
                       .trajectory = std::move(held.trajectory),
                       .sender = std::move(held.sender)});
}

std::vector<MeasurementAudit::Verdict> MeasurementAudit::TakeVerdicts(Time now) {
  std::vector<Verdict> verdicts = std::exchange(verdicts_, {});
  for (auto held = held_.begin(); held != held_.end();) {
    if (held->second.due > now) {
      ++held;
      continue;
    }
    verdicts.push_back(
        {.reason = "", .trajectory = std::move(held->second.trajectory), .sender = std::move(held->second.sender)});
    held = held_.erase(held);
  }
  return verdicts;
}

std::vector<MeasurementAudit::Verdict> MeasurementAudit::TakeAll() { return TakeVerdicts(Time::max()); }

}  // namespace emplace
