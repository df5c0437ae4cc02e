#include "actor/rollout.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/error.h"

namespace emplace {

Rollout::Rollout(const std::vector<PlacementTask>& tasks, const EnvironmentConfig& environment,
                 int64_t episodes_in_flight, const ActorKey& actor, const Rng& rng)
    : tasks_(tasks),
      environment_(environment),
      episodes_in_flight_(static_cast<size_t>(episodes_in_flight)),
      actor_(actor),
      rng_(rng),
      best_(tasks.size()),
      caches_(episodes_in_flight_) {
  EMPLACE_CHECK(!tasks.empty() && episodes_in_flight > 0);
  const auto devices = static_cast<size_t>(tasks[0].policy.num_devices);
  logits_.resize(episodes_in_flight_ * devices);
  weights_of_devices_.resize(devices);
}

void Rollout::SetWeights(std::shared_ptr<const PolicyWeights> weights) {
  EMPLACE_CHECK(weights->shape.num_devices == tasks_[0].policy.num_devices);
  weights_ = std::move(weights);
}

std::vector<Trajectory> Rollout::Advance() {
  if (wave_.empty()) StartWave();
  states_.clear();
  state_caches_.clear();
  for (const auto& episode : wave_) {
    states_.push_back(episode->env.state());
    state_caches_.push_back(&caches_[episode->slot]);
  }
  const size_t devices = weights_of_devices_.size();
  const std::span<float> logits = std::span(logits_).first(wave_.size() * devices);
  kernel_->Forward(states_, state_caches_, logits);

  std::vector<Trajectory> finished;
  for (size_t e = 0; e < wave_.size(); ++e) {
    ChooseAction(*wave_[e], logits.subspan(e * devices, devices));
    if (wave_[e]->env.done()) {
      finished.push_back(Finish(*wave_[e]));
      wave_[e].reset();
    }
  }
  std::erase(wave_, nullptr);
  return finished;
}

void Rollout::StartWave() {
  UseNewestWeights();
  // A stream of its own: what an episode draws does not depend on which others run beside it.
  while (wave_.size() < episodes_in_flight_) StartEpisode(rng_.Fork("episode", episodes_started_++), 0);
}

void Rollout::StartLockstep(std::span<const uint32_t> indices, uint64_t seed) {
  EMPLACE_CHECK(!indices.empty() && indices.size() <= episodes_in_flight_ && environment_.start != "best");
  UseNewestWeights();
  wave_.clear();
  const Rng of_version = Rng(seed).Fork("version", weights_->version);
  for (const uint32_t index : indices) StartEpisode(of_version.Fork("episode", index), index);
}

void Rollout::UseNewestWeights() {
  EMPLACE_CHECK(weights_ != nullptr);
  if (kernel_weights_ == weights_) return;
  kernel_.emplace(*weights_);
  kernel_weights_ = weights_;
}

void Rollout::StartEpisode(const Rng& own_rng, uint32_t index) {
  Rng rng = own_rng;
  const auto graph = static_cast<size_t>(rng.UniformInt(0, std::ssize(tasks_) - 1));
  wave_.push_back(std::make_unique<Episode>(tasks_[graph], environment_, rng));
  Episode& episode = *wave_.back();
  episode.slot = wave_.size() - 1;
  const bool from_best = environment_.start == "best" && !best_[graph].placement.empty();
  const double rho = from_best ? episode.env.Reset(best_[graph].placement) : episode.env.Reset(episode.rng);

  Trajectory& trajectory = episode.trajectory;
  const auto steps = static_cast<size_t>(tasks_[graph].policy.num_nodes);
  EMPLACE_CHECK(steps > 0);
  trajectory.graph = static_cast<GraphId>(graph);
  trajectory.actor = actor_;
  trajectory.index = index;
  trajectory.policy_version = weights_->version;
  trajectory.start_placement.assign(episode.env.placement().begin(), episode.env.placement().end());
  trajectory.actions.reserve(steps);
  trajectory.behaviour_log_prob.reserve(steps);
  trajectory.rho.reserve(steps + 1);
  trajectory.rho.push_back(static_cast<float>(rho));
}

void Rollout::ChooseAction(Episode& episode, std::span<const float> logits) {
  CheckLogits(logits);
  // Softmax, shifted by the largest logit; -infinity (not allowed) becomes weight 0.
  const float largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (size_t d = 0; d < logits.size(); ++d) {
    weights_of_devices_[d] = std::exp(static_cast<double>(logits[d]) - static_cast<double>(largest));
    sum += weights_of_devices_[d];
  }
  const size_t device = episode.rng.Categorical(weights_of_devices_);
  const double log_prob = static_cast<double>(logits[device]) - static_cast<double>(largest) - std::log(sum);
  const double rho = episode.env.Step(static_cast<DeviceIndex>(device));
  episode.trajectory.actions.push_back(static_cast<uint8_t>(device));
  episode.trajectory.behaviour_log_prob.push_back(static_cast<float>(log_prob));
  episode.trajectory.rho.push_back(static_cast<float>(rho));
  ++steps_;
}

Trajectory Rollout::Finish(Episode& episode) {
  Best& best = best_[episode.trajectory.graph];
  const std::vector<uint8_t>& placement = episode.env.best_placement();
  if (!placement.empty() && (best.placement.empty() || episode.env.best_makespan_us() < best.makespan_us)) {
    best = {episode.env.best_makespan_us(), placement};
  }
  return std::move(episode.trajectory);
}

}  // namespace emplace
