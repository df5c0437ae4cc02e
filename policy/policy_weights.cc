#include "policy/policy_weights.h"

#include <cmath>
#include <span>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/format_version.h"
#include "common/files/safetensors.h"
#include "common/parse_number.h"
#include "common/strings.h"
#include "common/trajectory.h"
#include "policy/policy_kind.h"
#include "policy/policy_kinds.h"

namespace emplace {
namespace {

constexpr char kPolicyFormat[] = "emplace.policy/1";
// What the file's metadata says besides PolicyWeights::metadata.
constexpr char kFormatKey[] = "format";
constexpr char kVersionKey[] = "version";
constexpr char kKindKey[] = "kind";
constexpr char kNumDevices[] = "num_devices";

std::string ShapeKey(const std::string& size) { return "shape." + size; }

// Takes `key` out of the metadata.
std::string TakeText(std::map<std::string, std::string>& metadata, const std::string& key, const std::string& name) {
  const auto found = metadata.find(key);
  if (found == metadata.end())
    throw BadInput(StrCat(name, ": the metadata lack '", key, "', expected those of a policy"));
  std::string text = std::move(found->second);
  metadata.erase(found);
  return text;
}

uint64_t TakeInteger(std::map<std::string, std::string>& metadata, const std::string& key, uint64_t low, uint64_t high,
                     const std::string& name) {
  const std::string text = TakeText(metadata, key, name);
  const std::optional<uint64_t> value = ParseNumber<uint64_t>(text);
  if (!value || *value < low || *value > high) {
    throw BadInput(
        StrCat(name, ": ", key, " of the metadata is '", text, "', expected an integer in ", low, "..", high));
  }
  return *value;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::vector<std::string> extents;
  for (const int64_t extent : shape) extents.push_back(StrCat(extent));
  return StrCat("[", Join(extents, ", "), "]");
}

// Appends one parameter to the flat vector after checking it.
void AppendParameter(const SafetensorsFile& file, const ParameterSpec& parameter, const std::string& name,
                     std::vector<float>& values) {
  const SafetensorsTensor& tensor = file.Get(parameter.name, name);
  if (tensor.shape != parameter.shape) {
    throw BadInput(StrCat(name, ": tensor '", parameter.name, "': shape is ", ShapeText(tensor.shape), ", expected ",
                          ShapeText(parameter.shape)));
  }
  const std::vector<float> own = tensor.Values<float>(name);
  for (size_t i = 0; i < own.size(); ++i) {
    if (!std::isfinite(own[i])) {
      throw BadInput(StrCat(name, ": tensor '", parameter.name, "': element ", i, " is ", own[i], ", expected finite"));
    }
  }
  values.insert(values.end(), own.begin(), own.end());
}

PolicyShape TakeShape(std::map<std::string, std::string>& metadata, const std::string& name) {
  PolicyShape shape;
  shape.kind = metadata.contains(kKindKey) ? TakeText(metadata, kKindKey, name) : kDefaultPolicyKind;
  const PolicyKind* const kind = FindPolicyKindIfAny(shape.kind);
  if (kind == nullptr) {
    throw BadInput(StrCat(name, ": a policy of kind '", shape.kind, "', expected one of ",
                          Join(PolicyKindNames(), ", "), "; a newer emplace may know it"));
  }
  const auto take = [&](const SizeField& size) {
    const std::string key = ShapeKey(size.name);
    if (size.if_absent && !metadata.contains(key)) return *size.if_absent;
    return static_cast<int64_t>(
        TakeInteger(metadata, key, static_cast<uint64_t>(size.low), static_cast<uint64_t>(size.high), name));
  };
  const SizeField devices = {
      .name = kNumDevices, .low = kind->plans() ? 0 : 1, .high = kind->plans() ? 0 : kMaxDevices};
  shape.num_devices = static_cast<int32_t>(take(devices));
  for (const SizeField& size : kind->Sizes()) shape.sizes[size.name] = take(size);
  for (const RetiredSize& size : kind->RetiredSizes()) {
    const std::string key = ShapeKey(size.name);
    if (!metadata.contains(key)) continue;
    const std::string text = TakeText(metadata, key, name);
    if (text != StrCat(size.value)) {
      throw BadInput(StrCat(name, ": policy metadata ", key, " is '", text, "', expected ", size.value,
                            ": policies with another value are of emplace 0.1.0"));
    }
  }
  return shape;
}

}  // namespace

std::string SerializePolicy(const PolicyWeights& weights) {
  EMPLACE_CHECK(std::ssize(weights.values) == NumParameters(weights.shape));
  SafetensorsFile file;
  std::map<std::string, std::string> own = {{kFormatKey, kPolicyFormat},
                                            {kKindKey, weights.shape.kind},
                                            {kVersionKey, StrCat(weights.version)},
                                            {ShapeKey(kNumDevices), StrCat(weights.shape.num_devices)}};
  for (const auto& [size, value] : weights.shape.sizes) own[ShapeKey(size)] = StrCat(value);
  for (const RetiredSize& size : FindPolicyKind(weights.shape.kind).RetiredSizes()) {
    own[ShapeKey(size.name)] = StrCat(size.value);
  }
  file.metadata = weights.metadata;
  for (const auto& [key, text] : own) EMPLACE_CHECK(file.metadata.emplace(key, text).second);

  std::span<const float> rest = weights.values;
  for (const ParameterSpec& parameter : FindPolicyKind(weights.shape.kind).Parameters(weights.shape)) {
    const size_t count = NumEntries(parameter);
    file.tensors.push_back(SafetensorsTensor::Of<float>(parameter.name, parameter.shape, rest.first(count)));
    rest = rest.subspan(count);
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
  const std::vector<ParameterSpec> parameters = FindPolicyKind(weights.shape.kind).Parameters(weights.shape);
  for (const ParameterSpec& parameter : parameters) AppendParameter(file, parameter, name, weights.values);
  // Every name above is there, so more tensors means names that we do not know.
  if (file.tensors.size() != parameters.size()) {
    throw BadInput(StrCat(name, ": policy has ", file.tensors.size(), " tensors, expected ", parameters.size()));
  }
  weights.metadata = std::move(file.metadata);
  return weights;
}

PolicyWeights LoadPolicy(const std::filesystem::path& path) { return ParsePolicy(ReadFile(path), path.string()); }

}  // namespace emplace
