#include "policy/field_sizes.h"

#include <cmath>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

int64_t ToSize(const FieldSize& size, const ConfigField::Value& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? 1 : 0;
  if (const auto* number = std::get_if<double>(&value)) {
    return std::llround(*number * static_cast<double>(size.per_unit));
  }
  return std::get<int64_t>(value) * size.per_unit;
}

// like: a value of the field's type.
ConfigField::Value FromSize(const FieldSize& size, int64_t number, const ConfigField::Value& like) {
  if (std::holds_alternative<bool>(like)) return number == 1;
  if (std::holds_alternative<double>(like)) return static_cast<double>(number) / static_cast<double>(size.per_unit);
  return number / size.per_unit;
}

}  // namespace

std::vector<SizeField> SizesOf(const std::vector<ConfigField>& fields) {
  std::vector<SizeField> sizes;
  for (const ConfigField& field : fields) {
    if (!field.size) continue;
    SizeField size{.name = field.size->name, .low = 0, .high = 1, .if_absent = field.size->if_absent};
    if (field.has_range) {
      size.low = ToSize(*field.size, field.low);
      size.high = ToSize(*field.size, field.high);
    }
    sizes.push_back(std::move(size));
  }
  return sizes;
}

std::map<std::string, int64_t> SizesIn(const std::vector<ConfigField>& fields, const void* keys) {
  std::map<std::string, int64_t> sizes;
  for (const ConfigField& field : fields) {
    if (field.size) sizes[field.size->name] = ToSize(*field.size, field.get(keys));
  }
  return sizes;
}

void SetSizes(const std::vector<ConfigField>& fields, const std::map<std::string, int64_t>& sizes, void* keys) {
  for (const ConfigField& field : fields) {
    if (field.size) field.set(keys, FromSize(*field.size, sizes.at(field.size->name), field.get(keys)));
  }
}

std::string FirstDifference(const PolicyKind& kind, const PolicyShape& shape, const PolicyShape& expected) {
  if (shape.kind != expected.kind) return StrCat("policy.kind is ", shape.kind, ", expected ", expected.kind);
  if (shape.num_devices != expected.num_devices) {
    return StrCat("the machine has ", shape.num_devices, " devices, expected ", expected.num_devices);
  }
  for (const ConfigField& field : kind.fields()) {
    if (!field.size || shape.sizes.at(field.size->name) == expected.sizes.at(field.size->name)) continue;
    const auto text = [&](const PolicyShape& of) {
      return TextOf(FromSize(*field.size, of.sizes.at(field.size->name), kind.Defaults().at(field.name)));
    };
    return StrCat("policy.", field.name, " is ", text(shape), ", expected ", text(expected));
  }
  return "";
}

}  // namespace emplace
