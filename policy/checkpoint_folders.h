// The folders of a run's checkpoints, checkpoints/update_00000100 and so on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace emplace {

inline constexpr char kCheckpointPrefix[] = "update_";

// "update_00000100"
std::string CheckpointName(int64_t updates);
// The number of updates of such a folder; -1 for anything else.
int64_t UpdatesOfCheckpoint(const std::filesystem::path& folder);
// Those in a folder, which need not exist.
std::vector<std::filesystem::path> CheckpointsNewestFirst(const std::filesystem::path& folder);

}  // namespace emplace
