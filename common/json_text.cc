#include "common/json_text.h"

#include <algorithm>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {

nlohmann::json ParseJson(std::string_view text, const std::string& source) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    const std::string_view before = text.substr(0, std::min(error.byte > 0 ? error.byte - 1 : 0, text.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    // The library's message repeats the place in its own words before the last ": ".
    std::string what = error.what();
    const size_t detail = what.find(": ");
    if (detail != std::string::npos) what = what.substr(detail + 2);
    std::replace(what.begin(), what.end(), '\n', ' ');
    throw BadInput(StrCat(source, ":", line, ":", before.size() - line_start + 1, ": not valid JSON: ", what));
  }
}

const nlohmann::json& RequiredMember(const nlohmann::json& object, const std::string& key, const std::string& place) {
  const auto found = object.find(key);
  if (found == object.end()) throw BadInput(StrCat(place, ": '", key, "' is missing"));
  return *found;
}

}  // namespace emplace
