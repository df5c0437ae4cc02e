#include "tests/learner/update/naive_objective.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "learner/update/objective/baselines.h"
#include "tests/support/naive_policy.h"

namespace emplace {

NaiveState EvaluateNaively(const PolicyWeights& weights, const PlacementTask& task, const Trajectory& episode,
                           int32_t t) {
  std::vector<uint8_t> placement = episode.start_placement;
  std::copy_n(episode.actions.begin(), t, placement.begin());
  const PlacetoGraph graph(task.groups);
  const std::vector<double> logits = NaivePlacetoLogits(weights, {&graph, placement.data(), t});
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit);
  NaiveState state;
  for (const double logit : logits) {
    const double log_prob = logit - std::log(sum);
    state.log_probs.push_back(log_prob);
    if (std::isfinite(log_prob)) state.entropy -= std::exp(log_prob) * log_prob;
  }
  state.chosen = state.log_probs[episode.actions[static_cast<size_t>(t)]];
  return state;
}

NaiveObjective::NaiveObjective(const std::vector<PlacementTask>& tasks, const RunConfig& config,
                               const PolicyWeights& weights, const std::vector<Trajectory>& batch)
    : tasks_(tasks),
      batch_(batch),
      clip_(config.training.importance_clip),
      entropy_weight_(config.training.entropy_start) {
  const auto advantages =
      Baselines(tasks.size(), BaselineKind::kGraph, config.training.baseline_window, config.training.discount)
          .AdvantagesThenAdd(batch);
  std::vector<double> all;
  for (size_t e = 0; e < batch.size(); ++e) {
    for (size_t t = 0; t < batch[e].actions.size(); ++t) {
      const auto step = static_cast<int32_t>(t);
      const double log_pi = EvaluateNaively(weights, tasks[batch[e].graph], batch[e], step).chosen;
      const double log_mu = static_cast<double>(batch[e].behaviour_log_prob[t]);
      const double ratio = batch[e].policy_version == weights.version ? 1 : std::exp(log_pi - log_mu);
      samples_.push_back({e, step, static_cast<double>(advantages[e][t]), ratio});
      all.push_back(samples_.back().advantage);
    }
  }
  const double mean = std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  for (const double a : all) advantage_std_ += (a - mean) * (a - mean) / static_cast<double>(all.size());
  advantage_std_ = std::sqrt(advantage_std_);
  if (config.training.normalize_advantages == AdvantageUnit::kBatch) {
    for (NaiveSample& sample : samples_) sample.advantage /= advantage_std_;
  }
  if (config.training.normalize_advantages == AdvantageUnit::kGraph) {
    std::map<GraphId, std::vector<double>> squares;
    for (const NaiveSample& sample : samples_)
      squares[batch[sample.episode].graph].push_back(sample.advantage * sample.advantage);
    for (NaiveSample& sample : samples_) {
      const std::vector<double>& own = squares[batch[sample.episode].graph];
      sample.advantage /= std::sqrt(std::accumulate(own.begin(), own.end(), 0.0) / static_cast<double>(own.size()));
    }
  }
}

double NaiveObjective::Loss(const PolicyWeights& weights) const {
  double loss = 0;
  for (const NaiveSample& sample : samples_) {
    const Trajectory& episode = batch_[sample.episode];
    const NaiveState state = EvaluateNaively(weights, tasks_[episode.graph], episode, sample.step);
    loss -= std::min(sample.ratio, clip_) * sample.advantage * state.chosen + entropy_weight_ * state.entropy;
  }
  return loss / static_cast<double>(samples_.size());
}

double NaiveObjective::MeanRatio() const {
  double sum = 0;
  for (const NaiveSample& sample : samples_) sum += sample.ratio;
  return sum / static_cast<double>(samples_.size());
}

}  // namespace emplace
