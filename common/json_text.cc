#include "common/json_text.h"

#include <algorithm>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

using Json = nlohmann::json;

// The library's own builder, which in addition keeps where it failed (its exceptions know that only now and then) and
// stops at a depth that dump() and our own walks, which recurse, can bear.
class Builder : public nlohmann::detail::json_sax_dom_parser<Json> {
 public:
  using Base = nlohmann::detail::json_sax_dom_parser<Json>;
  static constexpr int kDeepest = 200;

  explicit Builder(Json& result) : Base(result, /*allow_exceptions=*/false) {}

  bool start_object(size_t size) { return Enter() && Base::start_object(size); }
  bool start_array(size_t size) { return Enter() && Base::start_array(size); }
  bool end_object() {
    --depth_;
    return Base::end_object();
  }
  bool end_array() {
    --depth_;
    return Base::end_array();
  }
  // position: bytes read, the one that did not fit included; a number that is too great has been read to its end.
  bool parse_error(size_t position, const std::string& last_token, const Json::exception& error) {
    constexpr int kNumberOverflow = 406;
    const size_t back = error.id == kNumberOverflow ? last_token.size() : 1;
    offset_ = position - std::min(position, back);
    what_ = error.what();
    return false;
  }

  size_t offset() const { return offset_; }
  const std::string& what() const { return what_; }

 private:
  bool Enter() {
    if (++depth_ <= kDeepest) return true;
    what_ = StrCat("nests deeper than ", kDeepest, " levels");
    return false;
  }

  int depth_ = 0;
  size_t offset_ = 0;
  std::string what_;
};

}  // namespace

Json ParseJson(std::string_view text, const std::string& source, const std::function<std::string(size_t)>& context) {
  Json root;
  Builder builder(root);
  if (Json::sax_parse(text, &builder)) return root;
  const size_t offset = std::min(builder.offset(), text.size());
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t newline = before.rfind('\n');
  const size_t column = newline == std::string_view::npos ? offset + 1 : offset - newline;
  // The library's message opens with its own name and place: "[json.exception...] parse error at line 1, column 2: ".
  std::string what = builder.what();
  const size_t detail = what.starts_with("[json") ? what.find(": ") : std::string::npos;
  if (detail != std::string::npos) {
    what = what.substr(detail + 2);
  } else if (what.starts_with("[json")) {  // "[json.exception.out_of_range.406] number overflow parsing '1e999'"
    what = what.substr(std::min(what.find("] ") + 2, what.size()));
  }
  std::replace(what.begin(), what.end(), '\n', ' ');
  throw BadInput(
      StrCat(source, ":", line, ":", column, ": ", context ? context(offset) : "", "not valid JSON: ", what));
}

const Json& RequiredMember(const Json& object, const std::string& key, const std::string& place) {
  const auto found = object.find(key);
  if (found == object.end()) throw BadInput(StrCat(place, ": '", key, "' is missing"));
  return *found;
}

void CheckKeys(const Json& object, std::initializer_list<std::string_view> known, const std::string& place) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw BadInput(
          StrCat(place, ": unknown key '", key, "', expected one of ", Join({known.begin(), known.end()}, ", ")));
    }
  }
}

uint64_t WholeNumber(const Json& value, const std::string& place, uint64_t largest) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > largest) {
    throw BadInput(StrCat(place, " is ", ShownJson(value), ", expected a whole number in 0..", largest));
  }
  return value.get<uint64_t>();
}

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
