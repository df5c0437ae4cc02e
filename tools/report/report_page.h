// Writes the report as one HTML page that needs no network and no other file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace emplace {

// `data` is the result of CollectReport. All names in it are escaped, so that they show as text.
std::string RenderReport(const nlohmann::ordered_json& data, const std::string& title);

}  // namespace emplace
