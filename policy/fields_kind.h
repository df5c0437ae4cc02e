// What a kind of policy has by its name and the table of its keys.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/config/field_table.h"
#include "common/strings.h"
#include "policy/config/policy_config.h"
#include "policy/policy_kind.h"

namespace emplace {

// Config: the struct of the kind's keys, with their defaults.
template <typename Config>
class FieldsKind : public PolicyKind {
 public:
  FieldsKind(std::string name, FieldTable<Config> fields) : name_(std::move(name)), fields_(std::move(fields)) {}

  const std::string& name() const override { return name_; }
  const std::vector<ConfigField>& fields() const override { return fields_.fields(); }
  std::map<std::string, ConfigField::Value> Defaults() const override { return fields_.Defaults(); }

 protected:
  Config OwnOf(const PolicyConfig& config) const { return OwnKeys<Config>(config, fields()); }

 private:
  const std::string name_;
  const FieldTable<Config> fields_;
};

// Adds the key of Config::output_scale, which every kind has so far.
template <typename Config>
void AddOutputScale(FieldTable<Config>& table) {
  table.Field("output_scale", &Config::output_scale)
      .Range(0.0, 1.0)
      .Help(
          "Factor by which the last layer's initial weights are multiplied. A small one makes the first episodes "
          "choose devices almost at random.");
}

// Adds the key of Config::balanced (BalancedSize). choice: what a group is given, "device" or "bin".
template <typename Config>
void AddBalanced(FieldTable<Config>& table, const std::string& choice) {
  table.Field(kBalanced, &Config::balanced)
      .Help(
          StrCat("Whether a greedy placement, where several ", choice,
                 "s are about as likely as the best, gives each its share of the work. Without it, each group goes to "
                 "its most likely ",
                 choice, ", so all groups that look alike go to one."));
}

}  // namespace emplace
