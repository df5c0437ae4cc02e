// Log lines, "time role level message", on stderr. Thread-safe. Role is set once by main ("learner", "actor 3").
// Implemented over spdlog; its headers stay out of this one because its fmt clashes with LibTorch's.
#pragma once

#include <string>
#include <string_view>

namespace emplace {

void SetLogRole(const std::string& role);
// Also writes the lines to a file. Throws Error when it cannot be opened.
void LogToFile(const std::string& path);
void LogInfo(std::string_view message);
void LogWarning(std::string_view message);

}  // namespace emplace
