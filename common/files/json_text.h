// Parses JSON text, with errors that name the place. Include this in .cc files only: nlohmann/json is a large header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace emplace {

class Error;

// Deeper levels are refused: dump() and our own walks recurse, and could exhaust the stack.
constexpr size_t kDeepestJson = 200;

// Throws BadInput "source:line:col: what is wrong" for text that is not JSON, that holds a number too large for a
// double, or that nests so deeply that walking it could exhaust the stack. `context`, if given, returns a prefix for
// the error that says to which part of the file the byte at `offset` belongs, such as "in op 'b': ".
nlohmann::json ParseJson(std::string_view text, const std::string& source,
                         const std::function<std::string(size_t offset)>& context = nullptr);

// Returns the member, or throws BadInput "place: 'key' is missing, expected ...", without the latter where `expected`
// is empty. REQUIRES: object.is_object().
const nlohmann::json& RequiredMember(const nlohmann::json& object, const std::string& key, const std::string& place,
                                     std::string_view expected = "");

// Throws BadInput "place: unknown key 'x', expected one of ..." for a key that is not among the known ones, so that a
// misspelt key is no silent default. REQUIRES: object.is_object().
void CheckKeys(const nlohmann::json& object, std::initializer_list<std::string_view> known, const std::string& place);

// Returns the value, or throws BadInput "place is x, expected a whole number in 0..largest". The library's own
// conversion would silently turn -1 and 1.5 into other numbers.
uint64_t WholeNumber(const nlohmann::json& value, const std::string& place,
                     uint64_t largest = std::numeric_limits<uint64_t>::max());

// What RequiredMember and CheckKeys throw.
Error MissingMember(std::string_view key, const std::string& place, std::string_view expected);
Error UnknownKey(std::string_view key, std::initializer_list<std::string_view> known, const std::string& place);

// The document as one line. Bytes that are not UTF-8, such as names of files may have, become U+FFFD, where dump() of
// the library would throw.
std::string JsonLine(const nlohmann::ordered_json& document);

// Appends the value as dump() of the library writes it, without a document. Throws as dump() for bytes that are not
// UTF-8.
void AppendJson(std::string_view text, std::string& out);
void AppendJson(double number, std::string& out);

// The value as one line of text for an error, shortened if it is long.
std::string ShownJson(const nlohmann::json& value);

}  // namespace emplace
