#include "learner/update/make_engine.h"

#include <string>

#include "common/error.h"
#include "common/strings.h"
#include "learner/update/model_engine.h"
#include "policy/models.h"
#ifdef EMPLACE_CUDA
#include "learner/update/cuda_engine.h"
#include "policy/placeto/cuda/placeto_cuda_model.h"
#endif

namespace emplace {
namespace {

// Why a GPU cannot be used; empty: one can.
std::string WhyNoGpu([[maybe_unused]] const PolicyWeights& initial) {
#ifdef EMPLACE_CUDA
  if (initial.shape.kind != kCudaEngineKind)
    return StrCat("there are no kernels for policies of kind ", initial.shape.kind);
  return WhyNoCuda();
#else
  return "this build is without CUDA";
#endif
}

// Whether the recorded sequence of kernels makes the whole step: in one piece, on one rank, by one loss.
bool IsOfOneSequence(const TrainingConfig& config) {
  return config.objective == TrainingObjective::kReinforce && config.shards == 1;
}

}  // namespace

std::unique_ptr<UpdateEngine> MakeEngine(const TrainingConfig& config, const std::vector<PlacementTask>& tasks,
                                         const PolicyWeights& initial, Collective* collective,
                                         [[maybe_unused]] int32_t gpu) {
  const bool in_sequence = IsOfOneSequence(config);
  // Whether the kernels pay where the sequence is not theirs alone has not been measured.
  if (config.device == LearnerDevice::kCuda || (config.device == LearnerDevice::kAuto && in_sequence)) {
    const std::string why_not = WhyNoGpu(initial);
#ifdef EMPLACE_CUDA
    if (why_not.empty() && in_sequence) return MakeCudaEngine(tasks, initial);
    if (why_not.empty()) {
      return MakeModelEngine(MakePlacetoCudaModel(initial.shape, tasks, gpu), initial, config.shards, collective);
    }
#endif
    if (config.device == LearnerDevice::kCuda) {
      throw RunFailed(StrCat("training.device is cuda, but no GPU can be used: ", why_not));
    }
  }
  return MakeModelEngine(MakeModel(initial.shape, tasks), initial, config.shards, collective);
}

}  // namespace emplace
