#include "common/array_bundle.h"

#include <bit>
#include <cstring>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays travel as they lie in memory, little-endian");

template <typename T>
constexpr ArrayType TypeOf();
template <>
constexpr ArrayType TypeOf<uint8_t>() {
  return ArrayType::kUint8;
}
template <>
constexpr ArrayType TypeOf<int32_t>() {
  return ArrayType::kInt32;
}
template <>
constexpr ArrayType TypeOf<int64_t>() {
  return ArrayType::kInt64;
}
template <>
constexpr ArrayType TypeOf<uint64_t>() {
  return ArrayType::kUint64;
}
template <>
constexpr ArrayType TypeOf<float>() {
  return ArrayType::kFloat32;
}
template <>
constexpr ArrayType TypeOf<double>() {
  return ArrayType::kFloat64;
}

const NamedArray& Find(const std::vector<NamedArray>& arrays, const std::string& name, ArrayType type) {
  for (const NamedArray& array : arrays) {
    if (array.name != name) continue;
    if (array.type != type || array.bytes.size() % SizeOf(type) != 0) {
      throw BadInput(StrCat("array '", name, "': element type or number of bytes is wrong, expected elements of ",
                            SizeOf(type), " bytes"));
    }
    return array;
  }
  throw BadInput(StrCat("array '", name, "': is missing"));
}

}  // namespace

size_t SizeOf(ArrayType type) {
  switch (type) {
    case ArrayType::kUint8:
      return 1;
    case ArrayType::kInt32:
    case ArrayType::kFloat32:
      return 4;
    case ArrayType::kInt64:
    case ArrayType::kUint64:
    case ArrayType::kFloat64:
      return 8;
  }
  EMPLACE_CHECK(false);
  return 0;
}

template <typename T>
void ArrayBundle::Put(const std::string& name, std::span<const T> values) {
  NamedArray array{name, TypeOf<T>(), std::vector<uint8_t>(values.size_bytes())};
  if (!values.empty()) std::memcpy(array.bytes.data(), values.data(), values.size_bytes());
  arrays_.push_back(std::move(array));
}

template <typename T>
std::vector<T> ArrayBundle::Get(const std::string& name) const {
  const NamedArray& array = Find(arrays_, name, TypeOf<T>());
  std::vector<T> values(array.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  return values;
}

void ArrayBundle::PutText(const std::string& name, const std::string& text) {
  Put(name, std::vector<uint8_t>(text.begin(), text.end()));
}

std::string ArrayBundle::GetText(const std::string& name) const {
  const std::vector<uint8_t> bytes = Get<uint8_t>(name);
  return std::string(bytes.begin(), bytes.end());
}

template void ArrayBundle::Put(const std::string&, std::span<const uint8_t>);
template void ArrayBundle::Put(const std::string&, std::span<const int32_t>);
template void ArrayBundle::Put(const std::string&, std::span<const int64_t>);
template void ArrayBundle::Put(const std::string&, std::span<const uint64_t>);
template void ArrayBundle::Put(const std::string&, std::span<const float>);
template void ArrayBundle::Put(const std::string&, std::span<const double>);
template std::vector<uint8_t> ArrayBundle::Get(const std::string&) const;
template std::vector<int32_t> ArrayBundle::Get(const std::string&) const;
template std::vector<int64_t> ArrayBundle::Get(const std::string&) const;
template std::vector<uint64_t> ArrayBundle::Get(const std::string&) const;
template std::vector<float> ArrayBundle::Get(const std::string&) const;
template std::vector<double> ArrayBundle::Get(const std::string&) const;

}  // namespace emplace
