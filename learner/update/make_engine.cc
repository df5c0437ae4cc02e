#include "learner/update/make_engine.h"

#include <string>

#include "common/error.h"
#include "common/strings.h"
#include "learner/update/cuda_engine.h"
#include "learner/update/model_engine.h"
#include "policy/models.h"

namespace emplace {
namespace {

// Whether a recorded sequence of kernels can make the whole step: in one piece, on one rank, by one loss.
bool IsOfOneSequence(const TrainingConfig& config, const std::string& kind) {
  return kind == kCudaEngineKind && config.objective == TrainingObjective::kReinforce && config.shards == 1;
}

// Whether `auto` means a GPU where there is one. Whether Placeto's kernels pay where the sequence is not theirs alone
// has not been measured.
bool AutoMeansGpu(const TrainingConfig& config, const std::string& kind) {
  return kind == kCudaEngineKind ? IsOfOneSequence(config, kind) : config.shards == 1;
}

}  // namespace

std::unique_ptr<UpdateEngine> MakeEngine(const TrainingConfig& config, const std::vector<PlacementTask>& tasks,
                                         const PolicyWeights& initial, Collective* collective, int32_t gpu) {
  const std::string& kind = initial.shape.kind;
  if (config.device == LearnerDevice::kCuda || (config.device == LearnerDevice::kAuto && AutoMeansGpu(config, kind))) {
    const std::string why_not = WhyNoGpu(initial.shape);
#ifdef EMPLACE_CUDA
    if (why_not.empty() && IsOfOneSequence(config, kind)) return MakeCudaEngine(tasks, initial);
#endif
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
