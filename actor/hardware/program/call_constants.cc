#include "actor/hardware/program/call_constants.h"

#include <ATen/ScalarOps.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "common/strings.h"

namespace emplace {
namespace {

using c10::IValue;
using c10::TypeKind;

struct NamedDtype {
  const char* name;
  c10::ScalarType type;
};
constexpr std::array kDtypes = {
    NamedDtype{"f32", c10::ScalarType::Float},         NamedDtype{"f64", c10::ScalarType::Double},
    NamedDtype{"f16", c10::ScalarType::Half},          NamedDtype{"bf16", c10::ScalarType::BFloat16},
    NamedDtype{"i64", c10::ScalarType::Long},          NamedDtype{"i32", c10::ScalarType::Int},
    NamedDtype{"i16", c10::ScalarType::Short},         NamedDtype{"i8", c10::ScalarType::Char},
    NamedDtype{"u8", c10::ScalarType::Byte},           NamedDtype{"u64", c10::ScalarType::UInt64},
    NamedDtype{"bool", c10::ScalarType::Bool},         NamedDtype{"c64", c10::ScalarType::ComplexFloat},
    NamedDtype{"c128", c10::ScalarType::ComplexDouble}};

struct NamedFormat {
  const char* name;
  c10::MemoryFormat format;
};
constexpr std::array kMemoryFormats = {NamedFormat{"contiguous_format", c10::MemoryFormat::Contiguous},
                                       NamedFormat{"channels_last", c10::MemoryFormat::ChannelsLast},
                                       NamedFormat{"channels_last_3d", c10::MemoryFormat::ChannelsLast3d},
                                       NamedFormat{"preserve_format", c10::MemoryFormat::Preserve}};

// What an argument names, which to the dispatcher is a whole number; nullopt: nothing.
std::optional<NamedConstant::Kind> KindOfName(const c10::Argument& argument) {
  const c10::Type* type = argument.real_type().get();
  if (const auto* optional = type->castRaw<c10::OptionalType>()) type = optional->getElementType().get();
  switch (type->kind()) {
    case TypeKind::ScalarTypeType:
      return NamedConstant::Kind::kDtype;
    case TypeKind::LayoutType:
      return NamedConstant::Kind::kLayout;
    case TypeKind::MemoryFormatType:
      return NamedConstant::Kind::kMemoryFormat;
    default:
      return std::nullopt;
  }
}

c10::Scalar ToScalar(const AtenConstant& constant) {
  if (const auto* const integer = std::get_if<int64_t>(&constant)) return *integer;
  if (const auto* const flag = std::get_if<bool>(&constant)) return *flag;
  return std::get<double>(constant);
}

IValue WrappedNumber(const c10::Scalar& number) {
  at::Tensor tensor = at::scalar_to_tensor(number);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

int64_t Named(const NamedConstant& named, const std::string& place) {
  if (named.kind == NamedConstant::Kind::kDtype) return static_cast<int64_t>(DtypeNamed(named.name, place));
  if (named.kind == NamedConstant::Kind::kLayout && named.name == "strided") {
    return static_cast<int64_t>(c10::Layout::Strided);
  }
  for (const NamedFormat& known : kMemoryFormats) {
    if (named.kind == NamedConstant::Kind::kMemoryFormat && named.name == known.name) {
      return static_cast<int64_t>(known.format);
    }
  }
  throw BadInput(StrCat(place, ": '", named.name, "', expected a known memory format, or the layout strided"));
}

IValue ToList(const AtenConstant& constant, TypeKind element, const c10::Argument& argument, const std::string& place) {
  const auto* const integers = std::get_if<std::vector<int64_t>>(&constant);
  const bool empty = integers != nullptr && integers->empty();  // Graphs write every empty list as one of integers.
  // In place of a list of equal numbers there may be one.
  const auto repeats = static_cast<size_t>(std::max(argument.N().value_or(1), 1));
  if (element == TypeKind::IntType || element == TypeKind::SymIntType) {
    if (integers != nullptr) return c10::List<int64_t>(*integers);
    if (const auto* const integer = std::get_if<int64_t>(&constant)) {
      return c10::List<int64_t>(std::vector<int64_t>(repeats, *integer));
    }
  } else if (element == TypeKind::FloatType) {
    if (const auto* const numbers = std::get_if<std::vector<double>>(&constant)) return c10::List<double>(*numbers);
    if (integers != nullptr) return c10::List<double>(std::vector<double>(integers->begin(), integers->end()));
  } else if (element == TypeKind::BoolType) {
    c10::List<bool> list;
    if (const auto* const flags = std::get_if<std::vector<bool>>(&constant)) {
      for (const bool flag : *flags) list.push_back(flag);
      return list;
    }
    if (empty) return list;
  } else if (element == TypeKind::TensorType && empty) {
    return c10::List<at::Tensor>();
  } else if (element == TypeKind::OptionalType && empty) {
    return c10::List<std::optional<at::Tensor>>();
  }
  throw WrongValue(argument, place);
}

}  // namespace

c10::ScalarType DtypeNamed(const std::string& name, const std::string& place) {
  for (const NamedDtype& known : kDtypes) {
    if (name == known.name) return known.type;
  }
  throw BadInput(StrCat(place, ": '", name, "' is no type of numbers, expected one such as f32, bf16 or i64"));
}

c10::IValue ToIValue(const AtenConstant& constant, const c10::Argument& argument, const std::string& place) {
  const c10::Type* type = argument.type().get();
  if (const auto* optional = type->castRaw<c10::OptionalType>()) {
    if (std::holds_alternative<std::monostate>(constant)) return {};
    type = optional->getElementType().get();
  }
  if (const auto* list = type->castRaw<c10::ListType>()) {
    return ToList(constant, list->getElementType()->kind(), argument, place);
  }
  // LibTorch looks types of numbers, layouts and memory formats up by their number without a check.
  if (const std::optional<NamedConstant::Kind> kind = KindOfName(argument)) {
    const auto* const named = std::get_if<NamedConstant>(&constant);
    if (named == nullptr || named->kind != *kind) throw WrongValue(argument, place);
    return Named(*named, place);
  }
  const auto* const integer = std::get_if<int64_t>(&constant);
  const auto* const number = std::get_if<double>(&constant);
  const auto* const flag = std::get_if<bool>(&constant);
  switch (type->kind()) {
    case TypeKind::TensorType:
      // A number beside a tensor: it does not decide the type of the result.
      if (integer != nullptr || number != nullptr || flag != nullptr) return WrappedNumber(ToScalar(constant));
      break;
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      if (integer != nullptr) return *integer;
      break;
    case TypeKind::FloatType:
    case TypeKind::SymFloatType:
      if (number != nullptr) return *number;
      if (integer != nullptr) return static_cast<double>(*integer);
      break;
    case TypeKind::BoolType:
    case TypeKind::SymBoolType:
      if (flag != nullptr) return *flag;
      break;
    case TypeKind::NumberType:
      if (integer != nullptr || number != nullptr || flag != nullptr) return ToScalar(constant);
      break;
    case TypeKind::StringType:
      if (const auto* const text = std::get_if<std::string>(&constant)) return *text;
      break;
    default:
      break;
  }
  throw WrongValue(argument, place);
}

Error WrongValue(const c10::Argument& argument, const std::string& place) {
  return BadInput(StrCat(place, ": argument '", argument.name(), "' has a value of another type, expected ",
                         argument.type()->str()));
}

}  // namespace emplace
