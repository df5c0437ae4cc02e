// JSON text as a document of simdjson, for files of which one of nlohmann/json would take seconds. Include this in .cc
// files only, of targets that link simdjson::simdjson: it is a large header.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

using JsonElement = simdjson::dom::element;
using JsonList = simdjson::dom::array;
using JsonMember = simdjson::dom::key_value_pair;

// Elements and their strings live as long as the document.
class JsonDocument {
 public:
  // Takes what ParseJson takes, and throws what it throws (json_text.h); BadInput for a text of more than 4 GiB.
  JsonDocument(std::string_view text, const std::string& source,
               const std::function<std::string(size_t offset)>& context = nullptr);
  ~JsonDocument();

  JsonElement root() const { return root_; }

 private:
  // Whether it could. Throws BadInput for a text that is too large.
  bool Parse(std::string_view text, const std::string& source);

  // Not a member itself: what it looks like depends on how a target is compiled.
  std::unique_ptr<simdjson::dom::parser> parser_;
  JsonElement root_;
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

// REQUIRES: object.is_object().
std::optional<JsonElement> FindMember(const JsonElement& object, std::string_view key);
std::vector<JsonMember> MembersByKey(const JsonElement& object);

// As for values of nlohmann/json (json_text.h).
JsonElement RequiredMember(const JsonElement& object, std::string_view key, const JsonPlace& place,
                           std::string_view expected);
void CheckKeys(const JsonElement& object, std::initializer_list<std::string_view> known, const JsonPlace& place);
std::string ShownJson(const JsonElement& value);

// Writes values as nlohmann/json does: compact, the keys of each object in order. A value that is like the last one,
// which is common for neighbours in a list, is not written anew.
class JsonWriter {
 public:
  const std::string& Write(const JsonElement& value);

 private:
  std::string last_;  // As simdjson writes it.
  std::string written_;
};

}  // namespace emplace
