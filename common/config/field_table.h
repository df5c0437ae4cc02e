// One table per section of a configuration: reading, writing, range checks, --set and help all walk the table, so that
// a field's name, range and help stand in one place.
//
//   table.Field("buffer", &LearnerConfig::buffer).Range(1, 1e6).Help("Number of trajectories that may wait.");
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace emplace {

// How a file keeps a field's value as a whole number, for a value that is a size of a policy's network.
struct FieldSize {
  std::string name = "";  // Empty: that of the field.
  int64_t per_unit = 1;   // The file's number is the value times this: 10 for tenths. A truth value is 0 or 1.
  // For files from before the field; nullopt: the number has to be there.
  std::optional<int64_t> if_absent = std::nullopt;
};

// One key of a section. Its value is a whole number, a number, a truth value, a text or a list of texts.
struct ConfigField {
  using Value = std::variant<int64_t, uint64_t, double, bool, std::string, std::vector<std::string>>;

  std::string name;
  std::string help;
  double low = 0;   // Least allowed number; for a field with has_range.
  double high = 0;  // Greatest allowed number.
  bool has_range = false;
  std::vector<std::string> choices;  // The allowed texts; empty: every text is allowed.
  std::optional<FieldSize> size;     // nullopt: the value is no size.
  std::function<Value(const void* section)> get;
  std::function<void(void* section, const Value&)> set;  // REQUIRES: the value has the type that `get` returns.

  // The end of an error "..., expected 1..4096": a range, "one of a, b", "a number" or the like.
  std::string Expected(const Value& like) const;
  // Empty when the value is allowed; otherwise the text of Expected.
  std::string Check(const Value& value) const;
  // The value that a text stands for, of the type of `like`; throws BadInput "NAME is 'TEXT', expected ..." where it
  // stands for none that is allowed. REQUIRES: `like` is no list.
  Value Parse(const std::string& text, const Value& like) const;
};

// As FieldTable::CheckAll.
void CheckFields(const std::vector<ConfigField>& fields, const void* section);

// The text that stands for a value. REQUIRES: there is one.
template <typename E>
std::string TextOf(E value, const std::vector<std::pair<E, std::string>>& names) {
  return std::ranges::find_if(names, [&](const auto& pair) { return pair.first == value; })->second;
}

// What a member of type T is as a ConfigField::Value.
template <typename T>
using FieldValue = std::conditional_t<std::is_same_v<T, int32_t>, int64_t, T>;

template <typename Section>
class FieldTable {
 public:
  class FieldRef {
   public:
    explicit FieldRef(ConfigField& field) : field_(field) {}
    FieldRef& Range(double low, double high) {
      field_.low = low;
      field_.high = high;
      field_.has_range = true;
      return *this;
    }
    FieldRef& Choices(std::vector<std::string> choices) {
      field_.choices = std::move(choices);
      return *this;
    }
    // REQUIRES: the value is a truth value, or a number with a range.
    FieldRef& Size(FieldSize size = {}) {
      if (size.name.empty()) size.name = field_.name;
      field_.size = std::move(size);
      return *this;
    }
    void Help(const std::string& help) { field_.help = help; }

   private:
    ConfigField& field_;
  };

  // Owner: Section, or a base of it. REQUIRES: an int32_t is given a range that it holds.
  template <typename Owner, typename T>
  FieldRef Field(const std::string& name, T Owner::*member) {
    ConfigField field;
    field.name = name;
    field.get = [member](const void* section) {
      return ConfigField::Value(static_cast<FieldValue<T>>(static_cast<const Section*>(section)->*member));
    };
    field.set = [member](void* section, const ConfigField::Value& value) {
      static_cast<Section*>(section)->*member = static_cast<T>(std::get<FieldValue<T>>(value));
    };
    fields_.push_back(std::move(field));
    return FieldRef(fields_.back());
  }

  // An enumeration, as the text that stands for each of its values: {{Sync::kAsync, "async"}, ...}.
  template <typename E>
  FieldRef Field(const std::string& name, E Section::*member, std::vector<std::pair<E, std::string>> names) {
    ConfigField field;
    field.name = name;
    for (const auto& [value, text] : names) field.choices.push_back(text);
    field.get = [member, names](const void* section) {
      return ConfigField::Value(TextOf(static_cast<const Section*>(section)->*member, names));
    };
    field.set = [member, names](void* section, const ConfigField::Value& value) {
      const auto is_given = [&](const auto& pair) { return pair.second == std::get<std::string>(value); };
      static_cast<Section*>(section)->*member = std::ranges::find_if(names, is_given)->first;
    };
    fields_.push_back(std::move(field));
    return FieldRef(fields_.back());
  }

  const std::vector<ConfigField>& fields() const { return fields_; }
  // Throws BadInput "NAME is VALUE, expected ..." for the first value of the section that is not allowed.
  void CheckAll(const Section& section) const { CheckFields(fields_, &section); }
  // The section with these values, by name, set in it; what the table does not know is left out. REQUIRES: each has the
  // type of its field.
  Section Filled(const std::map<std::string, ConfigField::Value>& values, Section section = {}) const {
    for (const ConfigField& field : fields_) {
      if (const auto found = values.find(field.name); found != values.end()) field.set(&section, found->second);
    }
    return section;
  }
  // The values of a section with nothing set, by name.
  std::map<std::string, ConfigField::Value> Defaults() const {
    const Section section;
    std::map<std::string, ConfigField::Value> defaults;
    for (const ConfigField& field : fields_) defaults[field.name] = field.get(&section);
    return defaults;
  }

 private:
  std::vector<ConfigField> fields_;
};

// A value as a text, which ConfigField::Parse reads again. REQUIRES: it is no list.
std::string TextOf(const ConfigField::Value& value);

// The candidate that is closest to `word` by edit distance; empty when none is close enough to be meant.
std::string NearestName(const std::string& word, const std::vector<std::string>& candidates);
// The end of an error about an unknown `word`: ", did you mean 'x'?". If no known word is close, it is ", expected one
// of x, y" with all known words.
std::string DidYouMean(const std::string& word, const std::vector<std::string>& known);

}  // namespace emplace
