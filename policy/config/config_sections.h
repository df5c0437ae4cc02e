// The sections of a run's configuration and their keys, which reading, --set, the resolved file and the help walk.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/config/field_table.h"
#include "policy/config/run_config.h"

namespace emplace {

struct ConfigSection {
  std::string name;  // Empty: the top level.
  // The keys that the section has in this configuration: `policy.kind` decides which there are in section `policy`.
  std::function<std::vector<ConfigField>(const RunConfig&)> fields;
  std::function<void*(RunConfig&)> part;  // The section's struct, for ConfigField::get and set.
};

// In the order of the resolved file; the first is the top level.
const std::vector<ConfigSection>& ConfigSections();
// The keys of section `policy` that every kind has, and those that only this kind has, whose values are in a
// PolicyConfig by name.
std::vector<ConfigField> FieldsOfEveryKind();
std::vector<ConfigField> FieldsOfKind(const std::string& kind);

// Whether other keys of its section exist or not by the value of this one. full_name: "section.key".
bool DecidesKeys(const std::string& full_name);
std::string FullName(const ConfigSection& section, const std::string& key);
// All names that may stand in a section; at the top level also those of the sections.
std::vector<std::string> FieldNames(const ConfigSection& section, const RunConfig& config);
std::optional<ConfigField> FindField(const ConfigSection& section, const std::string& key, const RunConfig& config);

}  // namespace emplace
