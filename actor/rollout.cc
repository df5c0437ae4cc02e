#include "actor/rollout.h"

#include <algorithm>
#include <utility>

#include "common/error.h"
#include "policy/players.h"
#include "policy/policy_kinds.h"
#include "policy/policy_weights.h"
#include "policy/sample_choice.h"
#include "simulator/environment/environment_config.h"

namespace emplace {

Rollout::Rollout(const std::vector<PlacementTask>& tasks, const EnvironmentConfig& environment,
                 int64_t episodes_in_flight, const ActorKey& actor, const Rng& rng, MeasureFactory make_measure,
                 LogitsNoise noise)
    : tasks_(tasks),
      environment_(environment),
      episodes_in_flight_(static_cast<size_t>(episodes_in_flight)),
      actor_(actor),
      rng_(rng),
      make_measure_(std::move(make_measure)),
      noise_(noise),
      best_(tasks.size()) {
  EMPLACE_CHECK(!tasks.empty() && episodes_in_flight > 0);
}

void Rollout::SetWeights(std::shared_ptr<const PolicyWeights> weights) {
  EMPLACE_CHECK(weights->shape.num_devices == tasks_[0].groups.num_devices);
  weights_ = std::move(weights);
}

std::vector<Trajectory> Rollout::Advance(size_t most) {
  if (wave_.empty()) StartWave(std::min(most, episodes_in_flight_));
  playing_.clear();
  for (const auto& episode : wave_) playing_.push_back(episode->played.get());
  player_->Next(playing_, decisions_);
  choices_.clear();
  ForEachDecision(decisions_, [this](size_t e, std::span<const float> logits) { Choose(*wave_[e], logits); });
  player_->Apply(playing_, choices_);

  std::vector<Trajectory> finished;
  for (auto& episode : wave_) {
    if (!episode->played->done()) continue;
    finished.push_back(Finish(*episode));
    episode.reset();
  }
  std::erase(wave_, nullptr);
  return finished;
}

void Rollout::StartWave(size_t episodes) {
  EMPLACE_CHECK(episodes > 0);
  UseNewestWeights();
  // A stream of its own: what an episode draws does not depend on which others run beside it.
  while (wave_.size() < episodes) StartEpisode(rng_, episodes_started_++, 0);
}

void Rollout::StartLockstep(std::span<const uint32_t> indices, uint64_t seed) {
  EMPLACE_CHECK(!indices.empty() && indices.size() <= episodes_in_flight_ && environment_.start != Start::kBest);
  wave_.clear();
  UseNewestWeights();
  const Rng of_version = Rng(seed).Fork("version", weights_->version);
  for (const uint32_t index : indices) StartEpisode(of_version, index, index);
  for (const auto& episode : wave_) EMPLACE_CHECK(episode->env.reproducible());
}

void Rollout::UseNewestWeights() {
  EMPLACE_CHECK(weights_ != nullptr);
  if (played_weights_ == weights_) return;
  if (player_ == nullptr || player_->shape() != weights_->shape) {
    reward_time_ = FindPolicyKind(weights_->shape.kind).reward_time();
    player_ = MakePlayer(weights_->shape);
    views_.clear();
    for (const PlacementTask& task : tasks_) views_.push_back(player_->View(task));
  }
  player_->SetWeights(*weights_);
  played_weights_ = weights_;
}

void Rollout::StartEpisode(const Rng& stream, uint64_t number, uint32_t index) {
  Rng rng = stream.Fork("episode", number);
  // What several episodes have in common is drawn from a stream of theirs, an episode's own start from its own.
  const auto together = static_cast<uint64_t>(environment_.episodes_per_start);
  Rng of_start = together > 1 ? stream.Fork("start", number / together) : rng;
  const size_t graph = of_start.Index(tasks_.size());
  if (together == 1) rng = of_start;
  wave_.push_back(std::make_unique<Episode>(tasks_[graph], environment_, make_measure_, rng));
  Episode& episode = *wave_.back();

  Trajectory& trajectory = episode.trajectory;
  const auto n = static_cast<size_t>(tasks_[graph].groups.num_groups);
  EMPLACE_CHECK(n > 0);
  trajectory.graph = static_cast<GraphId>(graph);
  trajectory.actor = actor_;
  trajectory.index = index;
  trajectory.policy_version = weights_->version;
  trajectory.claim = episode.env.reproducible() ? Claim::kSimulated : Claim::kMeasured;
  trajectory.actions.reserve(n);
  trajectory.behaviour_log_prob.reserve(n);
  if (reward_time_ == RewardTime::kEachDecision) {
    const bool from_best = environment_.start == Start::kBest && !best_[graph].placement.empty();
    Rng& start_rng = together > 1 ? of_start : episode.rng;
    const double rho = from_best ? episode.env.Reset(best_[graph].placement) : episode.env.Reset(start_rng);
    trajectory.rho.reserve(n + 1);
    trajectory.rho.push_back(static_cast<float>(rho));
    trajectory.start_placement.assign(episode.env.placement().begin(), episode.env.placement().end());
  }
  episode.played = player_->Begin(*views_[graph], trajectory.start_placement);
}

void Rollout::Choose(Episode& episode, std::span<const float> logits) {
  const Choice choice = SampleChoice(WithNoise(episode, logits), episode.rng);
  choices_.push_back(static_cast<uint8_t>(choice.index));
  episode.trajectory.actions.push_back(choices_.back());
  episode.trajectory.behaviour_log_prob.push_back(static_cast<float>(choice.log_prob));
  ++steps_;
  if (reward_time_ == RewardTime::kEachDecision) {
    episode.trajectory.rho.push_back(static_cast<float>(episode.env.Step(static_cast<DeviceIndex>(choice.index))));
  }
}

std::span<const float> Rollout::WithNoise(Episode& episode, std::span<const float> logits) {
  const double deviation = noise_.DeviationAt(episode.trajectory.policy_version);
  if (deviation == 0) return logits;
  noisy_.assign(logits.begin(), logits.end());
  for (float& logit : noisy_) logit += static_cast<float>(deviation * episode.rng.Normal());  // -infinity stays so.
  return noisy_;
}

Trajectory Rollout::Finish(Episode& episode) {
  if (reward_time_ == RewardTime::kEnd) {
    episode.trajectory.rho = {static_cast<float>(episode.env.Reset(episode.played->placement()))};
  }
  Best& best = best_[episode.trajectory.graph];
  const std::vector<uint8_t>& placement = episode.env.best_placement();
  if (!placement.empty() && (best.placement.empty() || episode.env.best_makespan_us() < best.makespan_us)) {
    best = {episode.env.best_makespan_us(), placement};
  }
  return std::move(episode.trajectory);
}

}  // namespace emplace
