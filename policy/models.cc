#include "policy/models.h"

#include "common/error.h"
#include "policy/placeto/placeto_model.h"
#include "policy/torch/torch_library.h"

namespace emplace {
namespace {

struct ModelEntry {
  const char* kind;
  std::unique_ptr<Model> (*make)(const PolicyShape& shape, const std::vector<PlacementTask>& tasks);
};

constexpr ModelEntry kModels[] = {
    {"placeto", MakePlacetoModel}, {"sgdp", MakeTorchModel}, {"rnn", MakeTorchModel}, {"hierarchical", MakeTorchModel}};

}  // namespace

std::unique_ptr<Model> MakeModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks) {
  for (const ModelEntry& entry : kModels) {
    if (shape.kind == entry.kind) return entry.make(shape, tasks);
  }
  EMPLACE_CHECK(false);
  return nullptr;
}

}  // namespace emplace
