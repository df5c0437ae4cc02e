#include "learner/update/make_engine.h"

#include <string>

#include "common/error.h"
#include "common/strings.h"
#include "learner/update/model_engine.h"
#include "policy/models.h"
#ifdef EMPLACE_CUDA
#include "learner/update/cuda_engine.h"
#endif

namespace emplace {
namespace {

// Why a GPU does not make this update; empty: it does.
std::string WhyNoGpu([[maybe_unused]] const TrainingConfig& config, [[maybe_unused]] const PolicyWeights& initial) {
#ifdef EMPLACE_CUDA
  if (initial.shape.kind != kCudaEngineKind)
    return StrCat("there are no kernels for policies of kind ", initial.shape.kind);
  if (config.objective != TrainingObjective::kReinforce) return "its kernels compute the loss of reinforce alone";
  if (config.shards > 1) return StrCat("training.shards is ", config.shards, ", and its kernels compute in one piece");
  return WhyNoCuda();
#else
  return "this build is without CUDA";
#endif
}

}  // namespace

std::unique_ptr<UpdateEngine> MakeEngine(const TrainingConfig& config, const std::vector<PlacementTask>& tasks,
                                         const PolicyWeights& initial, Collective* collective) {
  if (config.device != LearnerDevice::kCpu) {
    const std::string why_not = WhyNoGpu(config, initial);
#ifdef EMPLACE_CUDA
    if (why_not.empty()) return MakeCudaEngine(tasks, initial);
#endif
    if (config.device == LearnerDevice::kCuda) {
      throw RunFailed(StrCat("training.device is cuda, but no GPU can be used: ", why_not));
    }
  }
  return MakeModelEngine(MakeModel(initial.shape, tasks), initial, config.shards, collective);
}

}  // namespace emplace
