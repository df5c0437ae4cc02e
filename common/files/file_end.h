// The end of a text file that may be too long to be read as a whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace emplace {

// Reads the lines of a file from the last to the first. Not thread-safe.
class LinesFromEnd {
 public:
  // Throws BadInput when the file cannot be read.
  explicit LinesFromEnd(const std::filesystem::path& path);

  // The next line without its line break; the last one may have none. nullopt: there is no further line.
  std::optional<std::string> Next();
  // Bytes of the file before the line that Next returned last; before the first call the size of the file.
  uint64_t offset() const { return offset_; }

 private:
  void ReadBlock();

  const std::filesystem::path path_;
  std::ifstream file_;
  std::string text_;    // What has been read and not returned.
  uint64_t begin_ = 0;  // Bytes of the file before text_.
  uint64_t offset_ = 0;
};

// Puts `text` in the place of everything past the first `offset` bytes. Throws RunFailed.
void ReplaceEnd(const std::filesystem::path& path, uint64_t offset, std::string_view text);

}  // namespace emplace
