#include "policy/placeto/placeto_shape.h"

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr char kMemoryFeature[] = "memory_feature";
constexpr char kMessageRounds[] = "message_rounds";
constexpr char kMessageWidth[] = "message_width";
constexpr char kPooling[] = "pooling";
constexpr char kStartTimes[] = "start_times";

void AddMlp(const std::string& name, const std::vector<int32_t>& widths, std::vector<LayerSpec>& layers) {
  for (size_t i = 0; i + 1 < widths.size(); ++i) layers.push_back({StrCat(name, ".", i), widths[i], widths[i + 1]});
}

}  // namespace

std::vector<SizeField> PlacetoSizes() {
  return {{.name = kMemoryFeature, .low = 0, .high = 1},
          {.name = kMessageRounds, .low = 0, .high = 1000},
          {.name = kMessageWidth, .low = 0, .high = 4096},
          // Without them a file is from before there was the choice, and means what all policies did then.
          {.name = kPooling, .low = 0, .high = 1, .if_absent = 1},
          {.name = kStartTimes, .low = 0, .high = 1, .if_absent = 0}};
}

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

PlacetoShape::operator PolicyShape() const {
  return {.kind = "placeto",
          .num_devices = num_devices,
          .sizes = {{kMemoryFeature, memory_feature ? 1 : 0},
                    {kMessageRounds, message_rounds},
                    {kMessageWidth, message_width},
                    {kPooling, pooling ? 1 : 0},
                    {kStartTimes, start_times ? 1 : 0}}};
}

PlacetoShape PlacetoShape::Of(const PolicyShape& shape) {
  EMPLACE_CHECK(shape.kind == "placeto");
  return {.num_devices = shape.num_devices,
          .memory_feature = shape.sizes.at(kMemoryFeature) == 1,
          .message_rounds = static_cast<int32_t>(shape.sizes.at(kMessageRounds)),
          .message_width = static_cast<int32_t>(shape.sizes.at(kMessageWidth)),
          .pooling = shape.sizes.at(kPooling) == 1,
          .start_times = shape.sizes.at(kStartTimes) == 1};
}

}  // namespace emplace
