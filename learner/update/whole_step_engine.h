// The update engine over a model that makes the whole optimizer step itself (policy/whole_step.h).
#pragma once

#include <memory>

#include "learner/update/update_engine.h"
#include "policy/whole_step.h"

namespace emplace {

// REQUIRES: every step's loss is that of LossKind::kReinforce.
std::unique_ptr<UpdateEngine> MakeWholeStepEngine(std::unique_ptr<WholeStep> whole);

}  // namespace emplace
