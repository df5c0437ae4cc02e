// Writes log lines "time role level message" to stderr, by a LineWriter, so that nobody waits for a terminal that takes
// none. Any thread may call these functions. Implemented with spdlog, whose headers are kept out of this one because
// its fmt clashes with LibTorch's.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace emplace {

// Sets the role in every line, such as "learner" or "actor 3"; main calls it once.
void SetLogRole(const std::string& role);
// Writes the lines to this file too. Throws Error when the file cannot be opened.
void LogToFile(const std::string& path);
// Waits until all lines are on stderr, for at most `timeout`: for who is about to end the process without its farewell.
void FlushLog(std::chrono::milliseconds timeout);
void LogInfo(std::string_view message);
void LogWarning(std::string_view message);

}  // namespace emplace
