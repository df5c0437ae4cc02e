#include "tests/fuzz/frames.h"

#include <algorithm>
#include <cstring>

namespace emplace {

std::vector<std::string> SplitFrames(std::string_view input) {
  std::vector<std::string> frames;
  while (input.size() >= sizeof(uint32_t)) {
    uint32_t length = 0;
    std::memcpy(&length, input.data(), sizeof(length));
    input.remove_prefix(sizeof(length));
    frames.emplace_back(input.substr(0, length));
    input.remove_prefix(frames.back().size());
  }
  return frames;
}

std::string JoinFrames(std::span<const std::string> frames) {
  std::string input;
  for (const std::string& frame : frames) {
    const auto length = static_cast<uint32_t>(frame.size());
    input.append(reinterpret_cast<const char*>(&length), sizeof(length));
    input += frame;
  }
  return input;
}

std::vector<std::span<const uint8_t>> FrameViews(std::span<const std::string> frames) {
  std::vector<std::span<const uint8_t>> views;
  for (const std::string& frame : frames)
    views.emplace_back(reinterpret_cast<const uint8_t*>(frame.data()), frame.size());
  return views;
}

}  // namespace emplace
