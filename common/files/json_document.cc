#include "common/files/json_document.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/error.h"
#include "common/files/json_text.h"
#include "common/strings.h"

namespace emplace {
namespace {

using Json = nlohmann::json;
using simdjson::dom::element_type;

bool AreDistinct(std::vector<std::string_view>& keys) {
  constexpr size_t kFew = 16;  // Of these, comparing all takes less than sorting.
  if (keys.size() > kFew) {
    std::sort(keys.begin(), keys.end());
    return std::adjacent_find(keys.begin(), keys.end()) == keys.end();
  }
  for (auto key = keys.begin(); key != keys.end(); ++key) {
    if (std::find(keys.begin(), key, *key) != key) return false;
  }
  return true;
}

// Whether a value nests no deeper than ParseJson allows, and no object in it has a key twice: simdjson takes an empty
// list or object that is one level too deep, and any keys.
class StructureCheck {
 public:
  bool Passes(const JsonElement& value, size_t depth = 1) {
    const element_type type = value.type();
    if (type == element_type::ARRAY) return depth <= kDeepestJson && EntriesPass(value, depth);
    if (type == element_type::OBJECT) return depth <= kDeepestJson && KeysDiffer(value) && MembersPass(value, depth);
    return true;
  }

 private:
  bool EntriesPass(const JsonElement& list, size_t depth) {
    for (const JsonElement entry : list.get_array()) {
      if (!Passes(entry, depth + 1)) return false;
    }
    return true;
  }

  bool MembersPass(const JsonElement& object, size_t depth) {
    for (const JsonMember member : object.get_object()) {
      if (!Passes(member.value, depth + 1)) return false;
    }
    return true;
  }

  bool KeysDiffer(const JsonElement& object) {
    keys_.clear();
    for (const JsonMember member : object.get_object()) keys_.push_back(member.key);
    return AreDistinct(keys_);
  }

  std::vector<std::string_view> keys_;
};

Json ToJson(const JsonElement& value) { return Json::parse(simdjson::minify(value)); }

}  // namespace

JsonDocument::JsonDocument(std::string_view text, const std::string& source,
                           const std::function<std::string(size_t)>& context)
    : parser_(std::make_unique<simdjson::dom::parser>()) {
  if (Parse(text, source)) return;
  // What is wrong is said here, with its place. Nothing may be: simdjson does not take a byte order mark, or a whole
  // number that needs more than 64 bits, but takes both as nlohmann/json writes them.
  EMPLACE_CHECK(Parse(ParseJson(text, source, context).dump(), source));
}

JsonDocument::~JsonDocument() = default;

bool JsonDocument::Parse(std::string_view text, const std::string& source) {
  if (text.empty()) return false;  // simdjson would copy from its address, which may be null.
  auto error = parser_->allocate(text.size(), kDeepestJson + 1);  // It refuses the depth that it is given.
  if (error == simdjson::SUCCESS) error = parser_->parse(text.data(), text.size()).get(root_);
  if (error == simdjson::CAPACITY || error == simdjson::MEMALLOC) {
    throw BadInput(StrCat(source, ": cannot be read: ", simdjson::error_message(error)));
  }
  return error == simdjson::SUCCESS && StructureCheck().Passes(root_);
}

std::string JsonPlace::Words() const { return StrCat(outer_ == nullptr ? "" : outer_->Words(), text_, name_, close_); }

std::optional<JsonElement> FindMember(const JsonElement& object, std::string_view key) {
  JsonElement found;
  return object.at_key(key).get(found) == simdjson::SUCCESS ? std::optional(found) : std::nullopt;
}

std::vector<JsonMember> MembersByKey(const JsonElement& object) {
  std::vector<JsonMember> members;
  for (const JsonMember member : object.get_object()) members.push_back(member);
  std::sort(members.begin(), members.end(), [](const JsonMember& a, const JsonMember& b) { return a.key < b.key; });
  return members;
}

JsonElement RequiredMember(const JsonElement& object, std::string_view key, const JsonPlace& place,
                           std::string_view expected) {
  const auto found = FindMember(object, key);
  if (!found) throw MissingMember(key, place.Words(), expected);
  return *found;
}

void CheckKeys(const JsonElement& object, std::initializer_list<std::string_view> known, const JsonPlace& place) {
  std::optional<std::string_view> unknown;  // The first in the order of the alphabet.
  for (const JsonMember member : object.get_object()) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    if (!unknown || member.key < *unknown) unknown = member.key;
  }
  if (unknown) throw UnknownKey(*unknown, known, place.Words());
}

std::string ShownJson(const JsonElement& value) { return ShownJson(ToJson(value)); }

const std::string& JsonWriter::Write(const JsonElement& value) {
  std::string text = simdjson::minify(value);
  if (text != last_) {
    written_ = Json::parse(text).dump();
    last_ = std::move(text);
  }
  return written_;
}

}  // namespace emplace
