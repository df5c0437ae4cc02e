#include "common/files/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/json_text.h"
#include "common/strings.h"

namespace emplace {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are copied as they are");

// The reference implementation refuses larger headers too.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kPrefixBytes = sizeof(uint64_t);
constexpr char kMetadataKey[] = "__metadata__";

struct TypeInfo {
  std::string_view name;
  size_t bytes;
};
constexpr std::array<TypeInfo, 13> kTypes = {{{"F64", 8},
                                              {"I64", 8},
                                              {"U64", 8},
                                              {"F32", 4},
                                              {"I32", 4},
                                              {"U32", 4},
                                              {"F16", 2},
                                              {"BF16", 2},
                                              {"I16", 2},
                                              {"U16", 2},
                                              {"I8", 1},
                                              {"U8", 1},
                                              {"BOOL", 1}}};

// Bytes of one element; 0 for a type that the format does not have.
size_t ElementBytes(std::string_view dtype) {
  const auto found = std::ranges::find(kTypes, dtype, &TypeInfo::name);
  return found == kTypes.end() ? 0 : found->bytes;
}

template <typename T>
constexpr std::string_view kTypeName = "";
template <>
constexpr std::string_view kTypeName<float> = "F32";
template <>
constexpr std::string_view kTypeName<double> = "F64";
template <>
constexpr std::string_view kTypeName<int32_t> = "I32";
template <>
constexpr std::string_view kTypeName<int64_t> = "I64";
template <>
constexpr std::string_view kTypeName<uint64_t> = "U64";
template <>
constexpr std::string_view kTypeName<uint8_t> = "U8";

std::map<std::string, std::string> ParseMetadata(const nlohmann::json& value, const std::string& source) {
  const std::string expectation = StrCat(source, ": safetensors ", kMetadataKey, " is not an object of strings");
  if (!value.is_object()) throw BadInput(expectation);
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) throw BadInput(StrCat(expectation, ": ", ShownJson(key), " is a ", text.type_name()));
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

// A tensor as the header describes it.
struct Entry {
  SafetensorsTensor tensor;  // Without its bytes.
  uint64_t begin = 0;        // Of the data part.
  uint64_t end = 0;
};

// Product of shape and element size; throws where it leaves 64 bits.
uint64_t ShapeBytes(const SafetensorsTensor& tensor, const std::string& place) {
  uint64_t bytes = ElementBytes(tensor.dtype);
  for (const int64_t extent : tensor.shape) {
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes)) {
      throw BadInput(StrCat(place, "the shape has more than 2^64 bytes"));
    }
  }
  return bytes;
}

Entry ParseEntry(const std::string& name, const nlohmann::json& value, uint64_t data_bytes, const std::string& source) {
  const std::string place = StrCat(source, ": tensor ", ShownJson(name), ": ");
  if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
      !value.contains("data_offsets")) {
    throw BadInput(StrCat(place, "expected an object of dtype, shape and data_offsets"));
  }
  Entry entry;
  entry.tensor.name = name;
  if (!value["dtype"].is_string() || ElementBytes(value["dtype"].get_ref<const std::string&>()) == 0) {
    throw BadInput(StrCat(place, "unknown dtype, expected F32, I64, U64, ..."));
  }
  entry.tensor.dtype = value["dtype"].get<std::string>();
  if (!value["shape"].is_array()) throw BadInput(StrCat(place, "shape is not a list"));
  for (const nlohmann::json& extent : value["shape"]) {
    constexpr auto kLargest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    entry.tensor.shape.push_back(
        static_cast<int64_t>(WholeNumber(extent, StrCat(place, "an extent of shape"), kLargest)));
  }
  const nlohmann::json& offsets = value["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) throw BadInput(StrCat(place, "data_offsets is not a list of two"));
  // An end past the data is what a cut file looks like.
  entry.end = WholeNumber(offsets[1], StrCat(place, "end offset"));
  if (entry.end > data_bytes) {
    throw BadInput(StrCat(place, "ends at byte ", entry.end, " of the data, which has ", data_bytes,
                          " bytes; the file is truncated"));
  }
  entry.begin = WholeNumber(offsets[0], StrCat(place, "begin offset"), entry.end);
  const uint64_t expected = ShapeBytes(entry.tensor, place);
  if (entry.end - entry.begin != expected) {
    throw BadInput(StrCat(place, "has ", entry.end - entry.begin, " bytes, expected ", expected, " for its shape"));
  }
  return entry;
}

}  // namespace

template <typename T>
SafetensorsTensor SafetensorsTensor::Of(std::string name, std::vector<int64_t> shape, std::span<const T> values) {
  SafetensorsTensor tensor{std::move(name), std::string(kTypeName<T>), std::move(shape), {}};
  const auto* first = reinterpret_cast<const uint8_t*>(values.data());
  tensor.bytes.assign(first, first + values.size_bytes());
  EMPLACE_CHECK(tensor.bytes.size() == ShapeBytes(tensor, ""));
  return tensor;
}

template <typename T>
std::vector<T> SafetensorsTensor::Values(const std::string& source) const {
  if (dtype != kTypeName<T>) {
    throw BadInput(StrCat(source, ": tensor ", ShownJson(name), ": dtype is ", dtype, ", expected ", kTypeName<T>));
  }
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

const SafetensorsTensor* SafetensorsFile::Find(const std::string& name) const {
  const auto found = std::ranges::find(tensors, name, &SafetensorsTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

const SafetensorsTensor& SafetensorsFile::Get(const std::string& name, const std::string& source) const {
  const SafetensorsTensor* const found = Find(name);
  if (found == nullptr) throw BadInput(StrCat(source, ": lacks tensor ", ShownJson(name)));
  return *found;
}

#define EMPLACE_SAFETENSORS_TYPE(T)                                                                           \
  template SafetensorsTensor SafetensorsTensor::Of<T>(std::string, std::vector<int64_t>, std::span<const T>); \
  template std::vector<T> SafetensorsTensor::Values<T>(const std::string&) const;
EMPLACE_SAFETENSORS_TYPE(float)
EMPLACE_SAFETENSORS_TYPE(double)
EMPLACE_SAFETENSORS_TYPE(int32_t)
EMPLACE_SAFETENSORS_TYPE(int64_t)
EMPLACE_SAFETENSORS_TYPE(uint64_t)
EMPLACE_SAFETENSORS_TYPE(uint8_t)
#undef EMPLACE_SAFETENSORS_TYPE

std::string SerializeSafetensors(const SafetensorsFile& file) {
  std::vector<const SafetensorsTensor*> order;
  for (const SafetensorsTensor& tensor : file.tensors) order.push_back(&tensor);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [](const SafetensorsTensor* tensor) { return ElementBytes(tensor->dtype); });

  nlohmann::json header = nlohmann::json::object();  // Its keys are sorted.
  if (!file.metadata.empty()) header[kMetadataKey] = file.metadata;
  uint64_t offset = 0;
  for (const SafetensorsTensor* tensor : order) {
    EMPLACE_CHECK(!header.contains(tensor->name) && tensor->name != kMetadataKey);
    EMPLACE_CHECK(ElementBytes(tensor->dtype) > 0 && tensor->bytes.size() == ShapeBytes(*tensor, ""));
    header[tensor->name] = {
        {"dtype", tensor->dtype}, {"shape", tensor->shape}, {"data_offsets", {offset, offset + tensor->bytes.size()}}};
    offset += tensor->bytes.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');

  std::string bytes;
  bytes.reserve(kPrefixBytes + text.size() + offset);
  const uint64_t length = text.size();
  bytes.append(reinterpret_cast<const char*>(&length), kPrefixBytes);
  bytes += text;
  for (const SafetensorsTensor* tensor : order) {
    bytes.append(reinterpret_cast<const char*>(tensor->bytes.data()), tensor->bytes.size());
  }
  return bytes;
}

SafetensorsFile ParseSafetensors(std::string_view bytes, const std::string& source) {
  if (bytes.size() < kPrefixBytes) {
    throw BadInput(
        StrCat(source, ": not a safetensors file: has ", bytes.size(), " bytes, expected at least ", kPrefixBytes));
  }
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kPrefixBytes);
  bytes.remove_prefix(kPrefixBytes);
  if (length > kMaxHeaderBytes) {
    throw BadInput(
        StrCat(source, ": not a safetensors file: header length is ", length, ", expected at most ", kMaxHeaderBytes));
  }
  if (length > bytes.size()) {
    throw BadInput(StrCat(source, ": header has ", length, " bytes, but ", bytes.size(),
                          " follow; not a safetensors file, or truncated"));
  }
  const nlohmann::json header = ParseJson(bytes.substr(0, length), StrCat(source, ": safetensors header"));
  if (!header.is_object()) {
    throw BadInput(
        StrCat(source, ": not a safetensors file: its header is a JSON ", header.type_name(), ", expected an object"));
  }
  const std::string_view data = bytes.substr(length);

  SafetensorsFile file;
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == kMetadataKey) {
      file.metadata = ParseMetadata(value, source);
    } else {
      entries.push_back(ParseEntry(name, value, data.size(), source));
    }
  }
  // By end too, so that empty tensors come before the one that starts where they are; names keep their order.
  std::ranges::stable_sort(entries, {}, [](const Entry& entry) { return std::pair(entry.begin, entry.end); });
  uint64_t covered = 0;
  for (Entry& entry : entries) {
    if (entry.begin != covered) {
      throw BadInput(StrCat(source, ": tensor ", ShownJson(entry.tensor.name), ": starts at byte ", entry.begin,
                            " of the data, expected ", covered, " (no gap, no overlap)"));
    }
    covered = entry.end;
    const std::string_view part = data.substr(entry.begin, entry.end - entry.begin);
    entry.tensor.bytes.assign(part.begin(), part.end());
    file.tensors.push_back(std::move(entry.tensor));
  }
  if (covered != data.size()) {
    throw BadInput(StrCat(source, ": ", data.size() - covered, " bytes follow the last tensor, expected none"));
  }
  return file;
}

}  // namespace emplace
