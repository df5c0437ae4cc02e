#include "common/files/json_tree.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>

#include "common/error.h"
#include "common/files/json_text.h"
#include "common/strings.h"

namespace emplace {
namespace {

using Json = nlohmann::json;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsOfNumber(char c) { return IsDigit(c) || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'; }

// Whether a byte of a string stands for itself. Of those that are not ASCII the library says whether they are UTF-8.
bool IsPlain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

// Behind the bytes for which that holds.
template <bool (*holds)(char)>
const char* Skip(const char* at, const char* end) {
  while (at != end && holds(*at)) ++at;
  return at;
}

// "-12.5": a number of which no check is left, as it has no exponent and is not too large.
bool IsPlainNumber(std::string_view text) {
  constexpr size_t kLongest = 300;
  const char* const end = text.data() + text.size();
  const char* const first = text.data() + (text.starts_with('-') ? 1 : 0);
  const char* at = Skip<IsDigit>(first, end);
  if (at == first || (*first == '0' && at - first > 1) || text.size() > kLongest) return false;
  if (at == end) return true;
  const char* const fraction = at + 1;
  return *at == '.' && fraction != end && Skip<IsDigit>(fraction, end) == end;
}

Json ToJson(const JsonValue& value) {
  return value.kind() == JsonKind::kString ? Json(value.text()) : Json::parse(value.text());
}

void DumpString(std::string_view text, std::string& out) {
  const bool is_plain = std::all_of(text.begin(), text.end(), IsPlain);
  out += is_plain ? StrCat("\"", text, "\"") : Json(text).dump();
}

void DumpNumber(const JsonValue& value, std::string& out) {
  const bool is_short = value.WholeNumber() && value.text() != "-0";
  out += is_short ? std::string(value.text()) : ToJson(value).dump();
}

void Dump(const JsonValue& value, std::string& out);

void DumpInside(const JsonValue& value, std::string& out) {
  char separator = value.text().front();
  for (const JsonValue* const entry : value.ByKey()) {
    out += separator;
    separator = ',';
    if (value.is_object()) {
      DumpString(entry->key(), out);
      out += ':';
    }
    Dump(*entry, out);
  }
  if (value.begin() == value.end()) out += separator;
  out += value.text().back();
}

void Dump(const JsonValue& value, std::string& out) {
  switch (value.kind()) {
    case JsonKind::kString:
      return DumpString(value.text(), out);
    case JsonKind::kNumber:
      return DumpNumber(value, out);
    case JsonKind::kList:
    case JsonKind::kObject:
      return DumpInside(value, out);
    default:
      out += value.text();
  }
}

}  // namespace

// Reads a text into values. What is rare, it asks the library about; what is wrong, it does not say.
class JsonScanner {
 public:
  JsonScanner(std::string_view text, const JsonStream& stream, std::vector<JsonValue>& values,
              std::deque<std::string>& unescaped)
      : at_(text.data()), end_(at_ + text.size()), stream_(stream), values_(values), unescaped_(unescaped) {}

  // Whether the whole text is one value. As for the library, a byte order mark may come first, and a zero byte ends it.
  bool ReadAll() {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (Rest().starts_with(kByteOrderMark)) at_ += kByteOrderMark.size();
    return ReadValue({}) && Next() == '\0';
  }

 private:
  std::string_view Rest() const { return {at_, end_}; }

  // The next byte that is no space; 0 at the end.
  char Next() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
    return at_ == end_ ? '\0' : *at_;
  }

  bool Take(char c) {
    if (Next() != c || at_ == end_) return false;
    ++at_;
    return true;
  }

  bool Add(JsonKind kind, std::string_view key, std::string_view text) {
    values_.emplace_back(kind, key, text);
    return true;
  }

  bool ReadValue(std::string_view key) {
    switch (Next()) {
      case '{':
        return ReadInside(JsonKind::kObject, '}', key);
      case '[':
        return ReadInside(JsonKind::kList, ']', key);
      case '"':
        return ReadStringValue(key);
      case 't':
        return ReadWord(JsonKind::kBoolean, "true", key);
      case 'f':
        return ReadWord(JsonKind::kBoolean, "false", key);
      case 'n':
        return ReadWord(JsonKind::kNull, "null", key);
      default:
        return ReadNumber(key);
    }
  }

  bool ReadInside(JsonKind kind, char close, std::string_view key) {
    if (depth_ == kDeepestJson) return false;
    ++depth_;
    const size_t index = values_.size();
    const char* const begin = at_++;
    Add(kind, key, {});
    if (Next() != close && !(kind == JsonKind::kObject ? ReadMembers() : ReadEntries(key))) return false;
    if (!Take(close)) return false;
    values_[index].text_ = {begin, at_};
    values_[index].span_ = values_.size() - index;
    --depth_;
    return kind == JsonKind::kList || KeysDiffer(values_[index]);
  }

  bool ReadMembers() {
    do {
      std::string_view key;
      if (!ReadString(key) || !Take(':') || !ReadValue(key)) return false;
    } while (Take(','));
    return true;
  }

  bool ReadEntries(std::string_view key) {
    constexpr size_t kDepthInRoot = 2;
    const bool is_stream = stream_.take && depth_ == kDepthInRoot && key == stream_.key;
    do {
      const auto entry = std::ssize(values_);
      if (!ReadValue({})) return false;
      if (is_stream) GiveAway(entry);
    } while (Take(','));
    return true;
  }

  void GiveAway(std::ptrdiff_t entry) {
    stream_.take(values_[static_cast<size_t>(entry)]);
    values_.erase(values_.begin() + entry, values_.end());
  }

  bool ReadStringValue(std::string_view key) {
    std::string_view text;
    return ReadString(text) && Add(JsonKind::kString, key, text);
  }

  bool ReadString(std::string_view& text) {
    if (!Take('"')) return false;
    const char* const begin = at_;
    at_ = Skip<IsPlain>(at_, end_);
    if (at_ == end_ || *at_ != '"') return ReadUnusualString(begin, text);
    text = {begin, at_++};
    return true;
  }

  bool ReadUnusualString(const char* begin, std::string_view& text) {
    while (at_ != end_ && *at_ != '"') at_ += *at_ == '\\' && end_ - at_ > 1 ? 2 : 1;
    if (at_ == end_) return false;
    ++at_;
    const Json string = Json::parse(begin - 1, at_, nullptr, /*allow_exceptions=*/false);
    if (string.is_discarded()) return false;
    text = unescaped_.emplace_back(string.get<std::string>());
    return true;
  }

  bool ReadWord(JsonKind kind, std::string_view word, std::string_view key) {
    if (!Rest().starts_with(word)) return false;
    at_ += word.size();
    return Add(kind, key, word);
  }

  bool ReadNumber(std::string_view key) {
    const char* const begin = at_;
    at_ = Skip<IsOfNumber>(at_, end_);
    const std::string_view text(begin, at_);
    return (IsPlainNumber(text) || Json::accept(text)) && Add(JsonKind::kNumber, key, text);
  }

  bool KeysDiffer(const JsonValue& object) {
    keys_.clear();
    for (const JsonValue& member : object) keys_.push_back(member.key());
    if (std::adjacent_find(keys_.begin(), keys_.end(), std::greater_equal<>()) == keys_.end()) return true;
    std::sort(keys_.begin(), keys_.end());
    return std::adjacent_find(keys_.begin(), keys_.end()) == keys_.end();
  }

  const char* at_;
  const char* const end_;
  const JsonStream& stream_;
  std::vector<JsonValue>& values_;
  std::deque<std::string>& unescaped_;
  size_t depth_ = 0;
  std::vector<std::string_view> keys_;
};

const JsonValue* JsonValue::Find(std::string_view key) const {
  for (const JsonValue& member : *this) {
    if (member.key_ == key) return &member;
  }
  return nullptr;
}

std::optional<int64_t> JsonValue::WholeNumber() const {
  int64_t number = 0;
  const char* const end = text_.data() + text_.size();
  const auto [stop, error] = std::from_chars(text_.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

double JsonValue::Number() const {
  if (const auto whole = WholeNumber()) return static_cast<double>(*whole);  // -0 is 0.
  double number = 0;
  const auto [stop, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
  return error == std::errc() ? number : ToJson(*this).get<double>();  // Too small for a double.
}

std::vector<const JsonValue*> JsonValue::ByKey() const {
  std::vector<const JsonValue*> entries;
  for (const JsonValue& entry : *this) entries.push_back(&entry);
  const auto comes_first = [](const JsonValue* a, const JsonValue* b) { return a->key() < b->key(); };
  if (is_object()) std::sort(entries.begin(), entries.end(), comes_first);
  return entries;
}

std::string JsonValue::Dump() const {
  std::string out;
  emplace::Dump(*this, out);
  return out;
}

JsonTree::JsonTree(std::string_view text, const std::string& source, const std::function<std::string(size_t)>& context,
                   const JsonStream& stream) {
  if (JsonScanner(text, stream, values_, unescaped_).ReadAll()) return;
  ParseJson(text, source, context);
  EMPLACE_CHECK(false);  // It throws what is wrong.
}

std::string JsonPlace::Words() const { return StrCat(outer_ == nullptr ? "" : outer_->Words(), text_, name_, close_); }

const JsonValue& RequiredMember(const JsonValue& object, std::string_view key, const JsonPlace& place) {
  const JsonValue* const found = object.Find(key);
  if (found == nullptr) throw MissingMember(key, place.Words());
  return *found;
}

void CheckKeys(const JsonValue& object, std::initializer_list<std::string_view> known, const JsonPlace& place) {
  std::optional<std::string_view> unknown;  // The first in the order of the alphabet.
  for (const JsonValue& member : object) {
    const std::string_view key = member.key();
    if (std::find(known.begin(), known.end(), key) == known.end() && (!unknown || key < *unknown)) unknown = key;
  }
  if (unknown) throw UnknownKey(*unknown, known, place.Words());
}

std::string ShownJson(const JsonValue& value) { return ShownJson(ToJson(value)); }

}  // namespace emplace
