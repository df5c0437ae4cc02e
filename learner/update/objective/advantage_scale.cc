#include "learner/update/objective/advantage_scale.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

// Added to a spread before dividing by it: where all advantages are equal, nothing is learned rather than noise.
constexpr double kNoSpread = 1e-8;
// What remains of a graph's mean square when a batch with episodes on it comes.
constexpr double kKept = 0.8;
// How many times the mean square so far a batch counts at most. One advantage can be as large as its task allows, which
// may be a million times the usual: unbounded, it would keep what its graph teaches at nothing for a hundred batches,
// and with this bound for some thirty. Sound batches were seen to come to twelve times.
constexpr double kMostRise = 1e4;

}  // namespace

double StandardDeviation(const std::vector<std::vector<float>>& rows) {
  double sum = 0;
  double squares = 0;
  double count = 0;
  for (const std::vector<float>& row : rows) {
    for (const float value : row) {
      sum += static_cast<double>(value);
      squares += static_cast<double>(value) * static_cast<double>(value);
      ++count;
    }
  }
  return count > 0 ? std::sqrt(std::max(0.0, squares / count - (sum / count) * (sum / count))) : 0;
}

AdvantageScale::AdvantageScale(AdvantageUnit unit, size_t graphs) : unit_(unit), mean_squares_(graphs) {}

std::vector<double> AdvantageScale::Factors(const std::vector<Trajectory>& batch,
                                            const std::vector<std::vector<float>>& advantages, double spread) {
  EMPLACE_CHECK(batch.size() == advantages.size());
  if (unit_ == AdvantageUnit::kNone) return std::vector<double>(batch.size(), 1.0);
  if (unit_ == AdvantageUnit::kBatch) return std::vector<double>(batch.size(), 1 / (spread + kNoSpread));
  AddToGraphs(batch, advantages);
  std::vector<double> factors;
  for (const Trajectory& episode : batch) factors.push_back(1 / (std::sqrt(mean_squares_[episode.graph]) + kNoSpread));
  return factors;
}

void AdvantageScale::AddToGraphs(const std::vector<Trajectory>& batch,
                                 const std::vector<std::vector<float>>& advantages) {
  std::vector<double> sum(mean_squares_.size());
  std::vector<double> count(mean_squares_.size());
  for (size_t e = 0; e < batch.size(); ++e) {
    for (const float advantage : advantages[e]) {
      const double value = static_cast<double>(advantage);
      if (!std::isfinite(value)) continue;
      sum[batch[e].graph] += value * value;
      ++count[batch[e].graph];
    }
  }
  for (size_t graph = 0; graph < sum.size(); ++graph) {
    if (sum[graph] == 0) continue;  // No episode, or a first one, which there is nothing to compare with yet.
    const double fresh = sum[graph] / count[graph];
    const double before = mean_squares_[graph];
    mean_squares_[graph] = before == 0 ? fresh : kKept * before + (1 - kKept) * std::min(fresh, kMostRise * before);
  }
}

void AdvantageScale::Load(std::vector<double> mean_squares) {
  if (mean_squares.size() != mean_squares_.size()) {
    throw BadInput(StrCat("advantage scales of ", mean_squares.size(), " graphs, expected ", mean_squares_.size()));
  }
  mean_squares_ = std::move(mean_squares);
}

}  // namespace emplace
