// The report as one HTML page that needs nothing but itself: no network, no other file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace emplace {

// Whatever names `data` (CollectReport) holds, they stay text: they cannot end the element that carries them.
std::string RenderReport(const nlohmann::ordered_json& data, const std::string& title);

}  // namespace emplace
