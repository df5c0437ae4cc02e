#include "policy/models.h"

#include <algorithm>
#include <iterator>

#include "common/error.h"
#include "policy/placeto/placeto_model.h"
#include "policy/torch_library.h"
#ifdef EMPLACE_CUDA
#include "policy/placeto/cuda/placeto_cuda.h"
#include "policy/placeto/cuda/placeto_cuda_model.h"
#include "policy/placeto/cuda/placeto_whole_step.h"
#include "policy/placeto/placeto_shape.h"
#endif

namespace emplace {
namespace {

struct ModelEntry {
  const char* kind;
  std::unique_ptr<Model> (*make)(const PolicyShape& shape, const std::vector<PlacementTask>& tasks);
  std::string (*why_no_gpu)(const PolicyShape& shape);
  std::unique_ptr<Model> (*make_on_gpu)(const PolicyShape& shape, const std::vector<PlacementTask>& tasks, int32_t gpu);
  // Null: the kind has no whole step.
  std::unique_ptr<WholeStep> (*make_whole_step)(const PolicyWeights& initial,
                                                const std::vector<PlacementTask>& tasks) = nullptr;
};

#ifdef EMPLACE_CUDA
std::string WhyNoPlacetoGpu(const PolicyShape& shape) {
  // The kernels make the features of a state themselves, and do not simulate.
  if (PlacetoShape::Of(shape).start_times) return "policy.start_times is for the CPU alone";
  return gpu::WhyNoGpu();
}
constexpr ModelEntry kPlaceto = {"placeto", MakePlacetoModel, WhyNoPlacetoGpu, MakePlacetoCudaModel,
                                 MakePlacetoWholeStep};
#else
std::string WhyNoPlacetoGpu(const PolicyShape& /*shape*/) { return "this build is without CUDA"; }
constexpr ModelEntry kPlaceto = {"placeto", MakePlacetoModel, WhyNoPlacetoGpu, nullptr};
#endif

constexpr ModelEntry kModels[] = {kPlaceto,
                                  {"sgdp", MakeTorchModel, WhyNoTorchGpu, MakeTorchGpuModel},
                                  {"rnn", MakeTorchModel, WhyNoTorchGpu, MakeTorchGpuModel},
                                  {"hierarchical", MakeTorchModel, WhyNoTorchGpu, MakeTorchGpuModel}};

const ModelEntry& ModelsOf(const std::string& kind) {
  const auto* const found = std::ranges::find(kModels, kind, &ModelEntry::kind);
  EMPLACE_CHECK(found != std::end(kModels));
  return *found;
}

}  // namespace

std::unique_ptr<Model> MakeModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks) {
  return ModelsOf(shape.kind).make(shape, tasks);
}

std::string WhyNoGpu(const PolicyShape& shape) { return ModelsOf(shape.kind).why_no_gpu(shape); }

std::unique_ptr<Model> MakeGpuModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks, int32_t gpu) {
  return ModelsOf(shape.kind).make_on_gpu(shape, tasks, gpu);
}

bool HasWholeStep(const std::string& kind) { return ModelsOf(kind).make_whole_step != nullptr; }

std::unique_ptr<WholeStep> MakeWholeStep(const PolicyWeights& initial, const std::vector<PlacementTask>& tasks) {
  return ModelsOf(initial.shape.kind).make_whole_step(initial, tasks);
}

}  // namespace emplace
