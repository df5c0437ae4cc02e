// What a kind of policy has by its name and the one table of its keys. A line of the table has everything that is said
// of a key: its name, the member with its default, its range and help, and whether it is a size of the network, which
// policy.safetensors then holds:
//
//   table.Field("hidden", &Keys::hidden).Range(1, 1024).Size().Help("Number of floats in the hidden layer.");
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/config/field_table.h"
#include "common/error.h"
#include "common/strings.h"
#include "policy/config/policy_config.h"
#include "policy/field_sizes.h"
#include "policy/policy_kind.h"

namespace emplace {

// Keys: the struct of the kind's keys, with their defaults.
template <typename Keys>
class FieldsKind : public PolicyKind {
 public:
  FieldsKind(std::string name, FieldTable<Keys> table) : name_(std::move(name)), table_(std::move(table)) {}

  const std::string& name() const final { return name_; }
  const std::vector<ConfigField>& fields() const final { return table_.fields(); }
  std::map<std::string, ConfigField::Value> Defaults() const final { return table_.Defaults(); }
  std::vector<SizeField> Sizes() const override { return SizesOf(fields()); }
  PolicyShape Shape(const PolicyConfig& config, int32_t num_devices) const override {
    const Keys keys = KeysOf(config);
    CheckKeys(keys);
    return ShapeOf(keys, num_devices);
  }

  PolicyShape ShapeOf(const Keys& keys, int32_t num_devices) const {
    return {.kind = name_, .num_devices = plans() ? 0 : num_devices, .sizes = SizesIn(fields(), &keys)};
  }
  // The sizes of a policy, as the keys that they come from; the other keys have their defaults. REQUIRES: the shape is
  // of this kind.
  Keys KeysOf(const PolicyShape& shape) const {
    EMPLACE_CHECK(shape.kind == name_);
    Keys keys;
    SetSizes(fields(), shape.sizes, &keys);
    return keys;
  }
  Keys KeysOf(const PolicyConfig& config) const { return OwnKeys<Keys>(config, fields()); }

 private:
  // Throws BadInput where keys do not go together.
  virtual void CheckKeys(const Keys& /*keys*/) const {}

  const std::string name_;
  const FieldTable<Keys> table_;
};

// Adds the key of Keys::output_scale, which every kind has so far.
template <typename Keys>
void AddOutputScale(FieldTable<Keys>& table) {
  table.Field("output_scale", &Keys::output_scale)
      .Range(0.0, 1.0)
      .Help(
          "Factor by which the last layer's initial weights are multiplied. A small one makes the first episodes "
          "choose devices almost at random.");
}

// Adds the key of Keys::balanced, for Balances (policy_kind.h). choice: what a group is given, "device" or "bin".
template <typename Keys>
void AddBalanced(FieldTable<Keys>& table, const std::string& choice) {
  table.Field(kBalanced, &Keys::balanced)
      .Size({.if_absent = 0})  // Without it a file is from before there was the choice.
      .Help(
          StrCat("Whether a greedy placement, where several ", choice,
                 "s are about as likely as the best, gives each its share of the work. Without it, each group goes to "
                 "its most likely ",
                 choice, ", so all groups that look alike go to one."));
}

}  // namespace emplace
