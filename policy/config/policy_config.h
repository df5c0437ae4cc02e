// Section `policy` of a run's configuration. Which keys it has depends on the kind of the policy.
#pragma once

#include <map>
#include <string>

#include "common/config/field_table.h"
#include "policy/policy_shape.h"

namespace emplace {

struct PolicyConfig {
  std::string kind = kDefaultPolicyKind;
  std::string initial;
  // The values of the kind's own keys, by name. Empty: the defaults; a configuration that was read has all of them.
  std::map<std::string, ConfigField::Value> own;
};

// The kind's keys as the struct that its table of fields describes: defaults, replaced by the values that are given.
template <typename Section>
Section OwnKeys(const PolicyConfig& config, const std::vector<ConfigField>& fields) {
  Section section;
  for (const ConfigField& field : fields) {
    const auto value = config.own.find(field.name);
    if (value != config.own.end()) field.set(&section, value->second);
  }
  return section;
}

}  // namespace emplace
