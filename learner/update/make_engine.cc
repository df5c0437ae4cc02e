#include "learner/update/make_engine.h"

#include <string>

#include "common/error.h"
#include "common/strings.h"
#include "learner/update/model_engine.h"
#include "learner/update/whole_step_engine.h"
#include "policy/models.h"

namespace emplace {
namespace {

// Whether a model can make the whole step at once: in one piece, on one rank, by one loss.
bool IsOneWholeStep(const TrainingConfig& config, const std::string& kind) {
  return HasWholeStep(kind) && config.objective == TrainingObjective::kReinforce && config.shards == 1;
}

// Whether `auto` means a GPU where there is one. Whether a kind with whole steps gains by a GPU without them has not
// been measured.
bool AutoMeansGpu(const TrainingConfig& config, const std::string& kind) {
  return HasWholeStep(kind) ? IsOneWholeStep(config, kind) : config.shards == 1;
}

}  // namespace

std::unique_ptr<UpdateEngine> MakeEngine(const TrainingConfig& config, const std::vector<PlacementTask>& tasks,
                                         const PolicyWeights& initial, Collective* collective, int32_t gpu) {
  const std::string& kind = initial.shape.kind;
  if (config.device == LearnerDevice::kCuda || (config.device == LearnerDevice::kAuto && AutoMeansGpu(config, kind))) {
    const std::string why_not = WhyNoGpu(initial.shape);
    if (why_not.empty() && IsOneWholeStep(config, kind)) return MakeWholeStepEngine(MakeWholeStep(initial, tasks));
    if (why_not.empty()) {
      return MakeModelEngine(MakeGpuModel(initial.shape, tasks, gpu), initial, config.shards, collective);
    }
    if (config.device == LearnerDevice::kCuda) {
      throw RunFailed(StrCat("training.device is cuda, but no GPU can be used: ", why_not));
    }
  }
  return MakeModelEngine(MakeModel(initial.shape, tasks), initial, config.shards, collective);
}

}  // namespace emplace
