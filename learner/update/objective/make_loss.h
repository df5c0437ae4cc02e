// Makes a loss from its numbers.
#pragma once

#include <memory>

#include "learner/update/objective/decision_loss.h"

namespace emplace {

// The result's spec() is `spec`.
std::unique_ptr<DecisionLoss> MakeLoss(const LossSpec& spec);

}  // namespace emplace
