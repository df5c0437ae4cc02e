#include "learner/intake/trial_episodes.h"

#include <cmath>
#include <utility>

#include "common/rng.h"
#include "common/strings.h"
#include "policy/trials/trial.h"
#include "policy/trials/trial_runner.h"

namespace emplace {
namespace {

class TrialChecker final : public EpisodeChecker {
 public:
  TrialChecker(const std::vector<PlacementTask>& tasks, const RunConfig& config,
               const TrialEpisodes::NewestWeights& newest)
      : share_(config.evolution.checked), runner_(tasks, config), newest_(newest), rng_(UnforeseenNumber()) {}

  EpisodeWorth Check(const Trajectory& trial) override {
    const float claimed = trial.rho.front();
    const double score = static_cast<double>(claimed);
    EpisodeWorth worth;
    worth.ratio = std::exp(score);
    worth.feasible = score < TrialRunner::kWorstScore;
    const std::shared_ptr<const PolicyWeights> weights = newest_();
    // One of an earlier version goes into no update.
    if (weights->version != trial.policy_version || rng_.Uniform() >= share_) return worth;
    const auto expected = static_cast<float>(runner_.Run(*weights, trial.index));
    if (claimed != expected) {
      worth.reason = StrCat("trial ", trial.index, " is worth ", claimed, ", run again it is worth ", expected);
    }
    return worth;
  }

 private:
  const double share_;
  TrialRunner runner_;
  const TrialEpisodes::NewestWeights& newest_;
  Rng rng_;
};

}  // namespace

TrialEpisodes::TrialEpisodes(const std::vector<PlacementTask>& tasks, const RunConfig& config, NewestWeights newest)
    : tasks_(tasks), config_(config), newest_(std::move(newest)) {}

std::optional<std::string> TrialEpisodes::CheckShape(const Trajectory& trial) const {
  if (!trial.start_placement.empty() || !trial.actions.empty() || !trial.behaviour_log_prob.empty() ||
      trial.rho.size() != 1) {
    return "it is no trial: it has decisions, or not one score";
  }
  const int64_t trials = config_.training.episodes_per_update;
  if (int64_t{trial.index} >= trials) return StrCat("trial ", trial.index, ", there are ", trials);
  const double score = static_cast<double>(trial.rho.front());
  if (!(score >= TrialRunner::kBestScore && score <= TrialRunner::kWorstScore)) return StrCat("a score is ", score);
  const uint64_t graph =
      tasks_.empty() ? 0 : TrialOf(config_, tasks_.size(), trial.policy_version, trial.index).problem;
  if (trial.graph == graph) return std::nullopt;
  return StrCat("trial ", trial.index, " places graph ", trial.graph, ", expected graph ", graph);
}

std::unique_ptr<EpisodeChecker> TrialEpisodes::MakeChecker() const {
  return std::make_unique<TrialChecker>(tasks_, config_, newest_);
}

}  // namespace emplace
