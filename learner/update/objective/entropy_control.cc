#include "learner/update/objective/entropy_control.h"

#include <algorithm>
#include <cmath>

#include "learner/update/schedule.h"

namespace emplace {
namespace {

constexpr double kFirstWeight = 0.1;
// At most so far from nothing, and from drowning the advantages, whose standard deviation is 1.
constexpr double kLeastWeight = 1e-4;
constexpr double kMostWeight = 2;
// Of the logarithm of the weight, an update, for an entropy that is off by all there can be; and at most so much.
constexpr double kGain = 0.2;
constexpr double kLargestStep = 0.1;

}  // namespace

EntropyControl::EntropyControl(const TrainingConfig& config, int32_t most_choices)
    : config_(config), largest_(std::log(std::max(most_choices, 2))), steered_weight_(kFirstWeight) {}

double EntropyControl::Scheduled(PolicyVersion version) const {
  return LinearSchedule(config_.entropy_start, config_.entropy_end, config_.entropy_decay_updates, version);
}

double EntropyControl::Weight(PolicyVersion version) const {
  return config_.entropy == EntropyGoal::kTarget ? steered_weight_ : Scheduled(version);
}

void EntropyControl::Observe(PolicyVersion version, double entropy) {
  if (config_.entropy != EntropyGoal::kTarget || !std::isfinite(entropy)) return;
  const double missing = Scheduled(version) - entropy / largest_;
  const double step = std::clamp(kGain * missing, -kLargestStep, kLargestStep);
  steered_weight_ = std::clamp(steered_weight_ * std::exp(step), kLeastWeight, kMostWeight);
}

}  // namespace emplace
