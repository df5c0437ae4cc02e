// A bar on stderr while something counts up; nothing where stderr is no terminal.
#pragma once

#include <cstdint>
#include <string>

namespace emplace {

class ProgressBar {
 public:
  explicit ProgressBar(int64_t total);
  ~ProgressBar();  // Leaves an empty line.

  // What has just ended.
  void Advance(const std::string& what);

 private:
  const int64_t total_;
  const bool shown_;
  int64_t done_ = 0;
};

}  // namespace emplace
