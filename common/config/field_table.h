// One table per section of a configuration: reading, writing, range checks, --set and help all walk it, so that a
// field's name, range, default and help stand in one place.
//
//   table.Field("batch_size", &LearnerConfig::batch_size).Range(1, 4096).Help("Trajectories in one optimizer step
//   (B).");
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace emplace {

// What a field holds, as text in and out. Kinds: whole number, number, truth value, text, list of texts.
struct ConfigField {
  using Value = std::variant<int64_t, uint64_t, double, bool, std::string, std::vector<std::string>>;

  std::string name;
  std::string help;
  double low = 0;  // Range of numbers, both ends included.
  double high = 0;
  bool has_range = false;
  std::vector<std::string> choices;  // Of texts; empty: any.
  std::function<Value(const void* section)> get;
  std::function<void(void* section, const Value&)> set;  // REQUIRES: the alternative that `get` gives.

  // "1..4096", "one of a, b", "a number", ...: what an error says was expected.
  std::string Expected(const Value& like) const;
  // Empty when the value is in range; else what was expected.
  std::string Check(const Value& value) const;
};

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
    void Help(const std::string& help) { field_.help = help; }

   private:
    ConfigField& field_;
  };

  template <typename T>
  FieldRef Field(const std::string& name, T Section::*member) {
    ConfigField field;
    field.name = name;
    field.get = [member](const void* section) {
      return ConfigField::Value(static_cast<const Section*>(section)->*member);
    };
    field.set = [member](void* section, const ConfigField::Value& value) {
      static_cast<Section*>(section)->*member = std::get<T>(value);
    };
    fields_.push_back(std::move(field));
    return FieldRef(fields_.back());
  }

  const std::vector<ConfigField>& fields() const { return fields_; }

 private:
  std::vector<ConfigField> fields_;
};

// The candidate closest to `word` by edit distance, or empty when none is near: for "did you mean".
std::string NearestName(const std::string& word, const std::vector<std::string>& candidates);
// The end of a complaint about an unknown `word`: ", did you mean 'x'?", or, when none is near, ", expected one of x,
// y".
std::string DidYouMean(const std::string& word, const std::vector<std::string>& known);

}  // namespace emplace
