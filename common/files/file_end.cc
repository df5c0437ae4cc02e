#include "common/files/file_end.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr uint64_t kBlockBytes = 1 << 16;

}  // namespace

LinesFromEnd::LinesFromEnd(const std::filesystem::path& path) : path_(path), file_(path, std::ios::binary) {
  file_.seekg(0, std::ios::end);
  if (!file_) throw BadInput(StrCat(path.string(), ": cannot be read: ", std::strerror(errno)));
  begin_ = offset_ = static_cast<uint64_t>(file_.tellg());
}

void LinesFromEnd::ReadBlock() {
  const uint64_t bytes = std::min(kBlockBytes, begin_);
  std::string block(bytes, '\0');
  file_.seekg(static_cast<std::streamoff>(begin_ - bytes));
  if (!file_.read(block.data(), static_cast<std::streamsize>(bytes))) {
    throw BadInput(StrCat(path_.string(), ": cannot be read: ", std::strerror(errno)));
  }
  begin_ -= bytes;
  text_.insert(0, block);
}

std::optional<std::string> LinesFromEnd::Next() {
  if (text_.empty() && begin_ > 0) ReadBlock();
  if (text_.empty()) return std::nullopt;
  if (text_.back() == '\n') text_.pop_back();
  size_t line_break = text_.rfind('\n');
  while (line_break == std::string::npos && begin_ > 0) {
    ReadBlock();
    line_break = text_.rfind('\n');
  }
  const size_t first = line_break == std::string::npos ? 0 : line_break + 1;
  std::string line = text_.substr(first);
  text_.resize(first);
  offset_ = begin_ + first;
  return line;
}

void ReplaceEnd(const std::filesystem::path& path, uint64_t offset, std::string_view text) {
  // Written before the rest is cut off: whoever is killed in between leaves lines that the next call removes.
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(text.data(), std::ssize(text));
  file.close();
  std::error_code error;
  if (file) std::filesystem::resize_file(path, offset + text.size(), error);
  if (!file || error) throw WriteError(path);
}

}  // namespace emplace
