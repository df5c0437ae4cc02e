#include "policy/placeto/placeto_shape.h"

#include "common/strings.h"

namespace emplace {
namespace {

void AddMlp(const std::string& name, const std::vector<int32_t>& widths, std::vector<LayerSpec>& layers) {
  for (size_t i = 0; i + 1 < widths.size(); ++i) layers.push_back({StrCat(name, ".", i), widths[i], widths[i + 1]});
}

}  // namespace

std::vector<LayerSpec> PlacetoLayers(const PlacetoShape& shape) {
  const int32_t features = shape.num_features();
  const int32_t width = shape.width();
  const int32_t embedding = shape.embedding_width();
  const int32_t pooled = shape.pooled_width();
  std::vector<LayerSpec> layers;
  AddMlp("self", {features, features, features, width}, layers);
  for (const char* name : {"forward.f", "forward.g", "backward.f", "backward.g"}) {
    AddMlp(name, {width, width, width}, layers);
  }
  for (const char* name : {"ancestors.F", "ancestors.G", "descendants.F", "descendants.G", "neither.F", "neither.G"}) {
    AddMlp(name, {embedding, embedding, embedding}, layers);
  }
  AddMlp("classifier", {pooled, 2 * pooled, pooled, shape.num_devices}, layers);
  return layers;
}

int64_t NumParameters(const PlacetoShape& shape) {
  int64_t count = 0;
  for (const LayerSpec& layer : PlacetoLayers(shape)) count += (int64_t{layer.in} + 1) * layer.out;
  return count;
}

}  // namespace emplace
