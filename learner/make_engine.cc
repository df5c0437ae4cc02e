#include "learner/make_engine.h"

#include "common/error.h"
#include "learner/cpu_engine.h"

namespace emplace {

std::unique_ptr<UpdateEngine> MakeEngine(const std::string& device, const std::vector<PlacementTask>& tasks,
                                         const PolicyWeights& initial) {
  if (device == "cuda") {
    throw RunFailed("training.device is cuda, but there is no usable CUDA device, or this build is without CUDA");
  }
  return MakeCpuEngine(tasks, initial);
}

}  // namespace emplace
