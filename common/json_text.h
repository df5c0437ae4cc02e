// JSON text -> nlohmann::json with our kind of complaint. For .cc files only.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace emplace {

// Throws BadInput "source:line:col: what is wrong" for text that is not JSON.
nlohmann::json ParseJson(std::string_view text, const std::string& source);

// The member as it is, or throws BadInput "place: 'key' is missing". REQUIRES: object.is_object().
const nlohmann::json& RequiredMember(const nlohmann::json& object, const std::string& key, const std::string& place);

}  // namespace emplace
