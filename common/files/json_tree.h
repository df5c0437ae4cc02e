// JSON text taken apart in one pass, for files of which a document of the library would take seconds: a value is a part
// of the text, and becomes a number or a string when it is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

enum class JsonKind : uint8_t { kNull, kBoolean, kNumber, kString, kList, kObject };

// A value in a JsonTree. A loop over it goes through a list's entries, or through an object's members as the text has
// them.
class JsonValue {
 public:
  class Iterator {
   public:
    explicit Iterator(const JsonValue* at) : at_(at) {}
    const JsonValue& operator*() const { return *at_; }
    Iterator& operator++() {
      at_ += at_->span_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const JsonValue* at_;
  };

  JsonValue(JsonKind kind, std::string_view key, std::string_view text) : kind_(kind), key_(key), text_(text) {}
  // Entries and members are found by the place of the value in the tree.
  JsonValue(const JsonValue&) = delete;
  JsonValue& operator=(const JsonValue&) = delete;
  JsonValue(JsonValue&&) = default;
  JsonValue& operator=(JsonValue&&) = default;

  JsonKind kind() const { return kind_; }
  bool is_object() const { return kind_ == JsonKind::kObject; }
  std::string_view key() const { return key_; }    // Of a member of an object.
  std::string_view text() const { return text_; }  // What a string says; of all else, how it is written.

  Iterator begin() const { return Iterator(this + 1); }
  Iterator end() const { return Iterator(this + span_); }
  const JsonValue* Find(std::string_view key) const;  // nullptr: there is no such member.
  std::vector<const JsonValue*> ByKey() const;  // The members in the order of their keys; the entries as they come.

  // REQUIRES: kind() is kNumber. A whole number is one without fraction and exponent that fits.
  double Number() const;
  std::optional<int64_t> WholeNumber() const;

  // As the library writes it: compact, the keys of each object in order.
  std::string Dump() const;

 private:
  friend class JsonScanner;

  JsonKind kind_;
  std::string_view key_;
  std::string_view text_;
  size_t span_ = 1;  // Values from this one to the last one inside it.
};

// A list that is too long to keep: each entry is given away once it has been read, and the tree has an empty list.
struct JsonStream {
  std::string_view key;  // Of the list, in the root.
  std::function<void(const JsonValue& entry)> take;
};

class JsonTree {
 public:
  // Takes what ParseJson takes, and throws what it throws, also after entries of the stream have been given away. The
  // text must outlive the tree; strings in the stream's entries live as long as both.
  JsonTree(std::string_view text, const std::string& source,
           const std::function<std::string(size_t offset)>& context = nullptr, const JsonStream& stream = {});

  const JsonValue& root() const { return values_.front(); }

 private:
  std::vector<JsonValue> values_;      // Each before the values inside it, in the order of the text.
  std::deque<std::string> unescaped_;  // Strings that are written with escapes.
};

// Where a value stands, which is put into words only for an error. What it was made of must outlive it.
class JsonPlace {
 public:
  explicit JsonPlace(std::string_view text) : text_(text) {}
  // A place in this one, whose words come after those of this one.
  JsonPlace At(std::string_view text, std::string_view name = {}, std::string_view close = {}) const {
    JsonPlace inner(text);
    inner.outer_ = this;
    inner.name_ = name;
    inner.close_ = close;
    return inner;
  }
  std::string Words() const;

 private:
  const JsonPlace* outer_ = nullptr;
  std::string_view text_;
  std::string_view name_;
  std::string_view close_;
};

// As for values of the library (json_text.h).
const JsonValue& RequiredMember(const JsonValue& object, std::string_view key, const JsonPlace& place);
void CheckKeys(const JsonValue& object, std::initializer_list<std::string_view> known, const JsonPlace& place);
std::string ShownJson(const JsonValue& value);

}  // namespace emplace
