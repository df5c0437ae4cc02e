// JSON text -> nlohmann::json with our kind of complaint. For .cc files only.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace emplace {

// Throws BadInput "source:line:col: what is wrong" for text that is not JSON, that holds a number past every double, or
// that nests so deep that walking it could exhaust the stack. `context`, where given, names what the byte at an offset
// belongs to ("in op 'b': "), for the message.
nlohmann::json ParseJson(std::string_view text, const std::string& source,
                         const std::function<std::string(size_t offset)>& context = nullptr);

// The member as it is, or throws BadInput "place: 'key' is missing". REQUIRES: object.is_object().
const nlohmann::json& RequiredMember(const nlohmann::json& object, const std::string& key, const std::string& place);

// The value as text for an error message: one line, cut where it is long.
std::string ShownJson(const nlohmann::json& value);

}  // namespace emplace
