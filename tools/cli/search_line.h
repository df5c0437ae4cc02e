// The line that tells how far a search is, on a terminal.
#pragma once

#include <chrono>
#include <cstdio>

#include "simulator/methods/placement_method.h"

namespace emplace {

// Writes nothing where the stream is no terminal.
class SearchLine {
 public:
  // REQUIRES: stream outlives the line.
  explicit SearchLine(std::FILE* stream = stderr);
  ~SearchLine();  // Leaves an empty line.
  SearchLine(const SearchLine&) = delete;
  SearchLine& operator=(const SearchLine&) = delete;

  // Writes the line anew, unless it did so a moment ago.
  void Show(const SearchProgress& progress);

 private:
  std::FILE* const stream_;
  const bool shown_;
  std::chrono::steady_clock::time_point last_;  // When it was written.
};

}  // namespace emplace
