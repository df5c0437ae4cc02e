#include "common/policy/policy_weights.h"

#include <charconv>
#include <cmath>
#include <span>

#include "common/error.h"
#include "common/file_io.h"
#include "common/format_version.h"
#include "common/safetensors.h"
#include "common/strings.h"
#include "common/trajectory.h"

namespace emplace {
namespace {

constexpr char kPolicyFormat[] = "emplace.policy/1";
// What the file's metadata says besides PolicyWeights::metadata.
constexpr char kFormatKey[] = "format";
constexpr char kVersionKey[] = "version";
constexpr char kNumDevicesKey[] = "shape.num_devices";
constexpr char kMemoryFeatureKey[] = "shape.memory_feature";
constexpr char kMessageRoundsKey[] = "shape.message_rounds";
constexpr char kMessageWidthKey[] = "shape.message_width";
constexpr char kPoolingKey[] = "shape.pooling";  // Files from before it lack it: their policies pool.

// Far above any use; they keep a hostile file from asking for absurd work.
constexpr uint64_t kMaxMessageRounds = 1000;
constexpr uint64_t kMaxMessageWidth = 4096;

// Takes `key` out of the metadata.
std::string TakeText(std::map<std::string, std::string>& metadata, const std::string& key, const std::string& name) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) throw BadInput(StrCat(name, ": policy metadata lacks ", key));
  std::string text = std::move(found->second);
  metadata.erase(found);
  return text;
}

uint64_t TakeInteger(std::map<std::string, std::string>& metadata, const std::string& key, uint64_t low, uint64_t high,
                     const std::string& name) {
  const std::string text = TakeText(metadata, key, name);
  uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() || value < low || value > high) {
    throw BadInput(StrCat(name, ": policy metadata ", key, " is not an integer in ", low, "..", high));
  }
  return value;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::vector<std::string> extents;
  for (const int64_t extent : shape) extents.push_back(StrCat(extent));
  return StrCat("[", Join(extents, ", "), "]");
}

// Appends one parameter to the flat vector after checking it.
void AppendParameter(const SafetensorsFile& file, const std::string& parameter, const std::vector<int64_t>& shape,
                     const std::string& name, std::vector<float>& values) {
  const SafetensorsTensor& tensor = file.Get(parameter, name);
  if (tensor.shape != shape) {
    throw BadInput(StrCat(name, ": tensor '", parameter, "': shape is ", ShapeText(tensor.shape), ", expected ",
                          ShapeText(shape)));
  }
  const std::vector<float> own = tensor.Values<float>(name);
  for (size_t i = 0; i < own.size(); ++i) {
    if (!std::isfinite(own[i])) {
      throw BadInput(StrCat(name, ": tensor '", parameter, "': element ", i, " is ", own[i], ", expected finite"));
    }
  }
  values.insert(values.end(), own.begin(), own.end());
}

PolicyShape TakeShape(std::map<std::string, std::string>& metadata, const std::string& name) {
  PolicyShape shape;
  shape.num_devices = static_cast<int32_t>(TakeInteger(metadata, kNumDevicesKey, 1, kMaxDevices, name));
  shape.memory_feature = TakeInteger(metadata, kMemoryFeatureKey, 0, 1, name) == 1;
  shape.message_rounds = static_cast<int32_t>(TakeInteger(metadata, kMessageRoundsKey, 0, kMaxMessageRounds, name));
  shape.message_width = static_cast<int32_t>(TakeInteger(metadata, kMessageWidthKey, 0, kMaxMessageWidth, name));
  if (metadata.contains(kPoolingKey)) shape.pooling = TakeInteger(metadata, kPoolingKey, 0, 1, name) == 1;
  return shape;
}

}  // namespace

PolicyWeights PolicyWeights::Initial(const PolicyShape& shape, Rng rng, double output_scale) {
  PolicyWeights weights;
  weights.shape = shape;
  weights.values.reserve(static_cast<size_t>(NumParameters(shape)));
  for (const LayerSpec& layer : PolicyLayers(shape)) {
    const double limit = std::sqrt(6.0 / (layer.in + layer.out));  // Glorot and Bengio 2010, equation 16.
    for (int64_t i = 0; i < int64_t{layer.in} * layer.out; ++i) {
      weights.values.push_back(static_cast<float>(rng.Uniform(-limit, limit)));
    }
    weights.values.insert(weights.values.end(), static_cast<size_t>(layer.out), 0.0F);
  }
  const LayerSpec last = PolicyLayers(shape).back();
  const auto tail = static_cast<std::ptrdiff_t>((int64_t{last.in} + 1) * last.out);
  for (auto value = weights.values.end() - tail; value != weights.values.end(); ++value) {
    *value = static_cast<float>(static_cast<double>(*value) * output_scale);
  }
  return weights;
}

std::string SerializePolicy(const PolicyWeights& weights) {
  EMPLACE_CHECK(std::ssize(weights.values) == NumParameters(weights.shape));
  SafetensorsFile file;
  const std::map<std::string, std::string> own = {
      {kFormatKey, kPolicyFormat},
      {kVersionKey, StrCat(weights.version)},
      {kNumDevicesKey, StrCat(weights.shape.num_devices)},
      {kMemoryFeatureKey, weights.shape.memory_feature ? "1" : "0"},
      {kMessageRoundsKey, StrCat(weights.shape.message_rounds)},
      {kMessageWidthKey, StrCat(weights.shape.message_width)},
      {kPoolingKey, weights.shape.pooling ? "1" : "0"},
  };
  file.metadata = weights.metadata;
  for (const auto& [key, text] : own) EMPLACE_CHECK(file.metadata.emplace(key, text).second);

  std::span<const float> rest = weights.values;
  const auto add = [&](const std::string& parameter, std::vector<int64_t> shape, int64_t count) {
    file.tensors.push_back(
        SafetensorsTensor::Of<float>(parameter, std::move(shape), rest.first(static_cast<size_t>(count))));
    rest = rest.subspan(static_cast<size_t>(count));
  };
  for (const LayerSpec& layer : PolicyLayers(weights.shape)) {
    add(layer.name + ".weight", {layer.out, layer.in}, int64_t{layer.out} * layer.in);
    add(layer.name + ".bias", {layer.out}, layer.out);
  }
  return SerializeSafetensors(file);
}

PolicyWeights ParsePolicy(std::string_view bytes, const std::string& name) {
  SafetensorsFile file = ParseSafetensors(bytes, name);
  const auto format = file.metadata.find(kFormatKey);
  if (format == file.metadata.end()) {
    throw BadInput(
        StrCat(name, ": safetensors, but not a policy: its metadata has no format, expected ", kPolicyFormat));
  }
  CheckFormat(format->second, kPolicyFormat, name);
  file.metadata.erase(format);

  PolicyWeights weights;
  weights.version = TakeInteger(file.metadata, kVersionKey, 0, UINT64_MAX, name);
  weights.shape = TakeShape(file.metadata, name);
  const std::vector<LayerSpec> layers = PolicyLayers(weights.shape);
  for (const LayerSpec& layer : layers) {
    AppendParameter(file, layer.name + ".weight", {layer.out, layer.in}, name, weights.values);
    AppendParameter(file, layer.name + ".bias", {layer.out}, name, weights.values);
  }
  // Every name above is there, so more tensors means names that we do not know.
  if (file.tensors.size() != 2 * layers.size()) {
    throw BadInput(StrCat(name, ": policy has ", file.tensors.size(), " tensors, expected ", 2 * layers.size()));
  }
  weights.metadata = std::move(file.metadata);
  return weights;
}

PolicyWeights LoadPolicy(const std::filesystem::path& path) { return ParsePolicy(ReadFile(path), path.string()); }

}  // namespace emplace
