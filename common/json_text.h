// JSON text -> nlohmann::json with our kind of complaint. For .cc files only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
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

// The value, or throws BadInput "place is x, expected a whole number in 0..largest": the library itself would turn -1
// and 1.5 into some other number without a word.
uint64_t WholeNumber(const nlohmann::json& value, const std::string& place,
                     uint64_t largest = std::numeric_limits<uint64_t>::max());

// The value as text for an error message: one line, cut where it is long.
std::string ShownJson(const nlohmann::json& value);

}  // namespace emplace
