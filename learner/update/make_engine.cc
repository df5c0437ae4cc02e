#include "learner/update/make_engine.h"

#include "common/error.h"
#include "common/strings.h"
#include "learner/update/cpu_engine.h"
#ifdef EMPLACE_CUDA
#include "learner/update/cuda_engine.h"
#include "policy/run_config.h"
#endif

namespace emplace {

std::unique_ptr<UpdateEngine> MakeEngine(LearnerDevice device, const std::vector<PlacementTask>& tasks,
                                         const PolicyWeights& initial) {
  if (device != LearnerDevice::kCpu) {
#ifdef EMPLACE_CUDA
    const std::string why_not = WhyNoCuda();
    if (why_not.empty()) return MakeCudaEngine(tasks, initial);
#else
    const std::string why_not = "this build is without CUDA";
#endif
    if (device == LearnerDevice::kCuda)
      throw RunFailed(StrCat("training.device is cuda, but no GPU can be used: ", why_not));
  }
  return MakeCpuEngine(tasks, initial);
}

}  // namespace emplace
