#include "policy/checkpoint_folders.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "common/strings.h"

namespace emplace {

namespace fs = std::filesystem;

std::string CheckpointName(int64_t updates) {
  return Format("%s%08lld", kCheckpointPrefix, static_cast<long long>(updates));
}

int64_t UpdatesOfCheckpoint(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(kCheckpointPrefix)) return -1;
  const std::string digits = name.substr(std::string_view(kCheckpointPrefix).size());
  constexpr size_t kMostDigits = 18;  // That an int64_t holds.
  if (digits.size() < 8 || digits.size() > kMostDigits) return -1;
  if (!std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) return -1;
  return std::stoll(digits);
}

std::vector<fs::path> CheckpointsNewestFirst(const fs::path& folder) {
  std::vector<fs::path> found;
  if (!fs::exists(folder)) return found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && UpdatesOfCheckpoint(entry.path()) >= 0) found.push_back(entry.path());
  }
  std::ranges::sort(found, std::greater(), UpdatesOfCheckpoint);
  return found;
}

}  // namespace emplace
