#include "common/files/json_text.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

using Json = nlohmann::json;

// Walks over a text and tells how far it has come, which the library's parser does not.
class TextIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TextIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  TextIterator& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  bool operator==(const TextIterator& other) const { return at_ == other.at_; }
  bool operator!=(const TextIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;  // What lies before it has been read.
};

// Builds the document, and keeps where it failed. Unlike the library's own builder, it refuses a key that an object has
// twice, and stops at a depth that all walks can bear.
class Builder {
 public:
  // `reached`: behind the last byte that was read, at each call.
  Builder(Json& root, std::string_view text, const char* const& reached)
      : root_(root), text_(text), reached_(reached) {}

  bool null() { return Add(nullptr); }
  bool boolean(bool value) { return Add(value); }
  bool number_integer(int64_t value) { return Add(value); }
  bool number_unsigned(uint64_t value) { return Add(value); }
  bool number_float(double value, const std::string& /*text*/) { return Add(value); }
  bool string(std::string& value) { return Add(std::move(value)); }
  bool binary(Json::binary_t& value) { return Add(std::move(value)); }
  bool start_object(size_t /*size*/) { return Open(Json::object()); }
  bool start_array(size_t /*size*/) { return Open(Json::array()); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool key(std::string& name) {
    const auto [member, is_new] = open_.back()->get_ref<Json::object_t&>().emplace(name, nullptr);
    if (!is_new) return Fail(OpeningQuote(), StrCat("key ", ShownJson(name), " is given twice, expected once"));
    member_ = &member->second;
    return true;
  }
  // position: bytes read, the one that did not fit included; a number that is too great has been read to its end.
  bool parse_error(size_t position, const std::string& last_token, const Json::exception& error) {
    constexpr int kNumberOverflow = 406;
    const size_t back = error.id == kNumberOverflow ? last_token.size() : 1;
    return Fail(position - std::min(position, back), StrCat("not valid JSON: ", WithoutPlace(error.what())));
  }

  size_t offset() const { return offset_; }
  const std::string& what() const { return what_; }

 private:
  bool Fail(size_t offset, std::string what) {
    offset_ = offset;
    what_ = std::move(what);
    return false;
  }

  // The library's message opens with its own name and place: "[json.exception...] parse error at line 1, column 2: ".
  static std::string WithoutPlace(std::string what) {
    const size_t detail = what.find(": ");
    if (detail != std::string::npos) {
      what = what.substr(detail + 2);
    } else {  // "[json.exception.out_of_range.406] number overflow parsing '1e999'"
      what = what.substr(std::min(what.find("] ") + 2, what.size()));
    }
    std::replace(what.begin(), what.end(), '\n', ' ');
    return what;
  }

  size_t Reached() const { return static_cast<size_t>(reached_ - text_.data()); }

  // Of the string whose closing quote was read last: the nearest quote before it that is not escaped.
  size_t OpeningQuote() const {
    size_t quote = Reached() - 1;
    while (true) {
      quote = text_.rfind('"', quote - 1);
      size_t backslashes = 0;
      while (text_[quote - 1 - backslashes] == '\\') ++backslashes;
      if (backslashes % 2 == 0) return quote;
    }
  }

  bool Add(Json value) {
    Place(std::move(value));
    return true;
  }

  Json* Place(Json value) {
    Json* place = &root_;
    if (!open_.empty()) place = open_.back()->is_object() ? member_ : &open_.back()->emplace_back();
    *place = std::move(value);
    return place;
  }

  bool Open(Json value) {
    if (open_.size() == kDeepestJson) {
      return Fail(Reached() - 1, StrCat("not valid JSON: nests deeper than ", kDeepestJson, " levels"));
    }
    open_.push_back(Place(std::move(value)));
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  Json& root_;
  const std::string_view text_;
  const char* const& reached_;
  std::vector<Json*> open_;  // Objects and lists that have not ended; each is the last entry of the one before it.
  Json* member_ = nullptr;   // Of the innermost object, the one whose key was read last.
  size_t offset_ = 0;
  std::string what_;
};

}  // namespace

Json ParseJson(std::string_view text, const std::string& source, const std::function<std::string(size_t)>& context) {
  Json root;
  const char* reached = text.data();
  const char* unused = nullptr;  // The end does not move.
  Builder builder(root, text, reached);
  const TextIterator begin(text.data(), &reached), end(text.data() + text.size(), &unused);
  if (Json::sax_parse(begin, end, &builder)) return root;
  const size_t offset = std::min(builder.offset(), text.size());
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t newline = before.rfind('\n');
  const size_t column = newline == std::string_view::npos ? offset + 1 : offset - newline;
  throw BadInput(StrCat(source, ":", line, ":", column, ": ", context ? context(offset) : "", builder.what()));
}

const Json& RequiredMember(const Json& object, const std::string& key, const std::string& place,
                           std::string_view expected) {
  const auto found = object.find(key);
  if (found == object.end()) throw MissingMember(key, place, expected);
  return *found;
}

void CheckKeys(const Json& object, std::initializer_list<std::string_view> known, const std::string& place) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) throw UnknownKey(key, known, place);
  }
}

Error MissingMember(std::string_view key, const std::string& place, std::string_view expected) {
  return BadInput(StrCat(place, ": '", key, "' is missing", expected.empty() ? "" : ", expected ", expected));
}

Error UnknownKey(std::string_view key, std::initializer_list<std::string_view> known, const std::string& place) {
  return BadInput(
      StrCat(place, ": unknown key '", key, "', expected one of ", Join({known.begin(), known.end()}, ", ")));
}

uint64_t WholeNumber(const Json& value, const std::string& place, uint64_t largest) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > largest) {
    throw BadInput(StrCat(place, " is ", ShownJson(value), ", expected a whole number in 0..", largest));
  }
  return value.get<uint64_t>();
}

void AppendJson(std::string_view text, std::string& out) {
  const auto stays = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (!std::ranges::all_of(text, stays)) {
    out += Json(text).dump();
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

void AppendJson(double number, std::string& out) { out += Json(number).dump(); }

std::string JsonLine(const nlohmann::ordered_json& document) {
  return document.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string ShownJson(const Json& value) {
  constexpr size_t kLongest = 60;
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

}  // namespace emplace
