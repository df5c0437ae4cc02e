#include "policy/models.h"

#include <algorithm>
#include <span>

#include "common/error.h"
#include "policy/policy_kinds.h"
#ifdef EMPLACE_CUDA
#include "policy/placeto/cuda/placeto_cuda.h"
#include "policy/placeto/cuda/placeto_cuda_model.h"
#include "policy/placeto/cuda/placeto_whole_step.h"
#include "policy/placeto/placeto_shape.h"
#endif

namespace emplace {
namespace {

// A kind with kernels of our own for a GPU.
struct CudaKind {
  const char* kind;
  std::string (*why_no_gpu)(const PolicyShape& shape);
  std::unique_ptr<Model> (*make_model)(const PolicyShape& shape, const std::vector<PlacementTask>& tasks, int32_t gpu);
  std::unique_ptr<WholeStep> (*make_whole_step)(const PolicyWeights& initial, const std::vector<PlacementTask>& tasks);
};

#ifdef EMPLACE_CUDA
std::string WhyNoPlacetoGpu(const PolicyShape& shape) {
  // The kernels make the features of a state themselves, and do not simulate.
  if (PlacetoShape::Of(shape).start_times) return "policy.start_times is for the CPU alone";
  return gpu::WhyNoGpu();
}

std::span<const CudaKind> CudaKinds() {
  static constexpr CudaKind kKinds[] = {{"placeto", WhyNoPlacetoGpu, MakePlacetoCudaModel, MakePlacetoWholeStep}};
  return kKinds;
}
#else
std::span<const CudaKind> CudaKinds() { return {}; }
#endif

// nullptr: the kind has none in this build.
const CudaKind* FindCudaKind(const std::string& kind) {
  const std::span<const CudaKind> kinds = CudaKinds();
  const auto found = std::ranges::find(kinds, kind, &CudaKind::kind);
  return found == kinds.end() ? nullptr : &*found;
}

}  // namespace

std::unique_ptr<Model> MakeModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks) {
  return FindPolicyKind(shape.kind).MakeModel(shape, tasks);
}

std::string WhyNoGpu(const PolicyShape& shape) {
  const CudaKind* const cuda = FindCudaKind(shape.kind);
  return cuda != nullptr ? cuda->why_no_gpu(shape) : FindPolicyKind(shape.kind).WhyNoGpu(shape);
}

std::unique_ptr<Model> MakeGpuModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks, int32_t gpu) {
  const CudaKind* const cuda = FindCudaKind(shape.kind);
  return cuda != nullptr ? cuda->make_model(shape, tasks, gpu)
                         : FindPolicyKind(shape.kind).MakeGpuModel(shape, tasks, gpu);
}

bool HasWholeStep(const std::string& kind) { return FindCudaKind(kind) != nullptr; }

std::unique_ptr<WholeStep> MakeWholeStep(const PolicyWeights& initial, const std::vector<PlacementTask>& tasks) {
  EMPLACE_CHECK(HasWholeStep(initial.shape.kind));
  return FindCudaKind(initial.shape.kind)->make_whole_step(initial, tasks);
}

}  // namespace emplace
