// Splits one fuzzer input into frames, for targets that read a multipart message or several files. Each frame is four
// bytes of length, little-endian, and that many bytes. Every input is valid: a length past the end takes all that is
// left.
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
