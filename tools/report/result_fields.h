// Reads the fields of result files. Each throws BadInput "place: 'key' is x, expected ..." for anything else. Include
// this in .cc files only: nlohmann/json is a large header.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace emplace {

std::string TextField(const nlohmann::json& object, const char* key, const std::string& place);
double NumberFromZero(const nlohmann::json& object, const char* key, const std::string& place);
bool TruthField(const nlohmann::json& object, const char* key, const std::string& place);
// Throws BadInput "place: is x, expected an object" unless it is one.
void CheckIsObject(const nlohmann::json& value, const std::string& place);

}  // namespace emplace
