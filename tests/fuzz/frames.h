// One fuzzer input as the frames of a multipart message, or as several files: each frame is four bytes of length,
// little-endian, and so many bytes. Any bytes are an input: a length past the end takes what is left.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

std::vector<std::string> SplitFrames(std::string_view input);
std::string JoinFrames(std::span<const std::string> frames);
std::vector<std::span<const uint8_t>> FrameViews(std::span<const std::string> frames);

}  // namespace emplace
