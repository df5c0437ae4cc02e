#include "policy/config/config_reader.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "common/error.h"
#include "common/parse_number.h"
#include "common/strings.h"
#include "policy/config/config_sections.h"
#include "simulator/machine/yaml_reader.h"

namespace emplace {
namespace {

// The node as the kind of value that the field holds; throws YAML::BadConversion where it is none.
ConfigField::Value Convert(const YAML::Node& node, const ConfigField::Value& like) {
  if (std::holds_alternative<std::vector<std::string>>(like)) {
    if (node.IsNull()) return std::vector<std::string>();
    return node.as<std::vector<std::string>>();
  }
  if (node.IsNull() && std::holds_alternative<std::string>(like)) return std::string();
  if (!node.IsScalar()) throw YAML::BadConversion(node.Mark());
  return std::visit(
      [&](const auto& sample) {
        using T = std::decay_t<decltype(sample)>;
        if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, uint64_t>) {
          // yaml-cpp reads 010 as 8.
          const std::optional<T> number = ParseNumber<T>(node.Scalar());
          if (!number) throw YAML::BadConversion(node.Mark());
          return ConfigField::Value(*number);
        } else {
          return ConfigField::Value(node.as<T>());
        }
      },
      like);
}

// The resolved file could not hold other text.
bool HoldsUnicodeText(const ConfigField::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return IsUnicodeText(*text);
  const auto* list = std::get_if<std::vector<std::string>>(&value);
  return list == nullptr ||
         std::all_of(list->begin(), list->end(), [](const std::string& item) { return IsUnicodeText(item); });
}

std::string Shown(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  return node.IsMap() ? "a map" : node.IsSequence() ? "a list" : "empty";
}

void SetField(const ConfigSection& section, const ConfigField& field, const YAML::Node& node, const std::string& place,
              RunConfig& config) {
  void* const part = section.part(config);
  const ConfigField::Value current = field.get(part);
  const std::string complaint = StrCat(place, ": ", FullName(section, field.name), " is ", Shown(node), ", expected ");
  ConfigField::Value value;
  try {
    value = Convert(node, current);
  } catch (const YAML::BadConversion&) {
    throw BadInput(complaint + field.Expected(current));
  }
  const std::string expected = field.Check(value);
  if (!expected.empty()) throw BadInput(complaint + expected);
  if (!HoldsUnicodeText(value)) throw BadInput(complaint + field.Expected(current) + " in UTF-8");
  field.set(part, value);
}

class ConfigReader {
 public:
  ConfigReader(const std::string& source, RunConfig& config) : source_(source), config_(config) {}

  // The keys that were read, as "section.key", and the sections.
  const std::set<std::string>& seen() const { return seen_; }

  void Read(const YAML::Node& root) {
    if (root.IsNull()) return;  // An empty file is all defaults.
    if (!root.IsMap())
      throw BadInput(StrCat(Place(root), ": the configuration is ", Shown(root), ", expected a map of sections"));
    for (const auto& entry : root) {
      const std::string key = Key(entry.first);
      const ConfigSection* const section = FindSection(key);
      if (section != nullptr) {
        CheckFirst(key, entry.first);
        ReadSection(*section, entry.second);
      } else {
        ReadField(ConfigSections().front(), entry.first, entry.second);
      }
    }
  }

 private:
  std::string Place(const YAML::Node& node) const {
    return StrCat(source_, ":", node.Mark().line + 1, ":", node.Mark().column + 1);
  }
  std::string Key(const YAML::Node& node) const {
    if (!node.IsScalar()) throw BadInput(StrCat(Place(node), ": a key is ", Shown(node), ", expected a name"));
    return node.Scalar();
  }
  static const ConfigSection* FindSection(const std::string& name) {
    for (const ConfigSection& section : ConfigSections()) {
      if (!section.name.empty() && section.name == name) return &section;
    }
    return nullptr;
  }
  void ReadSection(const ConfigSection& section, const YAML::Node& node) {
    if (node.IsNull()) return;
    if (!node.IsMap()) throw BadInput(StrCat(Place(node), ": ", section.name, " is ", Shown(node), ", expected a map"));
    // First what decides which other keys there are.
    for (const auto& entry : node) {
      if (DecidesKeys(FullName(section, Key(entry.first)))) ReadField(section, entry.first, entry.second);
    }
    for (const auto& entry : node) {
      if (!DecidesKeys(FullName(section, Key(entry.first)))) ReadField(section, entry.first, entry.second);
    }
  }
  void ReadField(const ConfigSection& section, const YAML::Node& key_node, const YAML::Node& value) {
    const std::string key = Key(key_node);
    const std::optional<ConfigField> field = FindField(section, key, config_);
    if (!field) {
      throw BadInput(StrCat(Place(key_node), ": unknown key '", FullName(section, key), "'",
                            DidYouMean(key, FieldNames(section, config_))));
    }
    CheckFirst(FullName(section, key), key_node);
    SetField(section, *field, value, Place(value), config_);
  }
  // YAML allows a key twice, where one of the two values would be lost.
  void CheckFirst(const std::string& name, const YAML::Node& key) {
    if (!seen_.insert(name).second) throw BadInput(StrCat(Place(key), ": '", name, "' is given twice, expected once"));
  }

  const std::string& source_;
  RunConfig& config_;
  std::set<std::string> seen_;
};

}  // namespace

std::set<std::string> ReadConfig(std::string_view yaml, const std::string& source, RunConfig& config) {
  ConfigReader reader(source, config);
  try {
    reader.Read(LoadYaml(yaml, source));
  } catch (const YAML::Exception& error) {
    throw BadInput(
        StrCat(source, ":", error.mark.line + 1, ":", error.mark.column + 1, ": not valid YAML: ", error.msg));
  }
  return reader.seen();
}

std::string OverriddenKey(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) {
    throw BadInput(StrCat("--set ", text, ": has no '=', expected section.key=value"));
  }
  return text.substr(0, equals);
}

void ApplyOverride(const std::string& text, RunConfig& config) {
  const std::string place = "--set " + text;
  const std::string name = OverriddenKey(text);
  const size_t equals = name.size();
  std::vector<std::string> known;
  for (const ConfigSection& section : ConfigSections()) {
    for (const ConfigField& field : section.fields(config)) {
      known.push_back(FullName(section, field.name));
      if (known.back() != name) continue;
      YAML::Node value;
      try {
        value = YAML::Load(text.substr(equals + 1));
      } catch (const YAML::Exception& error) {
        throw BadInput(StrCat(place, ": not valid YAML: ", error.msg));
      }
      SetField(section, field, value, place, config);
      return;
    }
  }
  const std::string nearest = NearestName(name, known);
  throw BadInput(StrCat(place, ": unknown key '", name, "'",
                        nearest.empty() ? ", expected section.key=value" : StrCat(", did you mean '", nearest, "'?")));
}

}  // namespace emplace
