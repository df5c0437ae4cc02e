// Chooses the device of a unit by a score: a weighted sum of features (unit_features.h).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/rng.h"
#include "simulator/methods/lists/units/unit_features.h"

namespace emplace {

struct UnitScorerOptions {
  UnitFeatures weights = kHandSetWeights;
  // 0: the greatest score counts. Else a device is drawn, with a probability in proportion to exp(score / temperature).
  double temperature = 0;

  // Whether a unit always goes where it finishes first, so that no features are needed.
  bool TakesFirstFinish() const;
};

// The order in which fits are preferred where their scores are equal.
inline bool EndsBefore(const UnitFit& a, const UnitFit& b) {
  return a.finish_us < b.finish_us || (a.finish_us == b.finish_us && a.sent_us < b.sent_us);
}

// Not thread-safe.
class UnitScorer {
 public:
  // As of UnitFeatureMaker.
  UnitScorer(const ScheduleGraph& graph, const UnitFacts& facts, const UnitScorerOptions& options, const Rng& rng)
      : options_(options), rng_(rng), features_(graph, facts) {}

  // Index of the fit that the unit gets. As of UnitFeatureMaker::Of.
  size_t Choose(OpIndex unit, std::span<const UnitFit> fits, std::span<const OpIndex> parameters,
                const UnitPlacement& units);
  // Both as of UnitFeatureMaker.
  void Placed(OpIndex unit, const UnitFit& fit) { features_.Placed(unit, fit); }
  void Sent(DeviceIndex from, double busy_until_us) { features_.Sent(from, busy_until_us); }

 private:
  const UnitScorerOptions options_;
  Rng rng_;
  UnitFeatureMaker features_;
  std::vector<double> scores_;  // Scratch.
};

}  // namespace emplace
