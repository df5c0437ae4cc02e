// Translates between the messages of a learner's ranks and their frames. Encoding cannot fail. Decoding takes untrusted
// bytes and never throws: it returns nullopt unless every length, index and enumeration is valid. The caller checks
// what the values mean. Pure functions: any thread may call them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "common/wire/messages/frames.h"
#include "common/wire/messages/messages.h"

namespace emplace {

std::vector<Frame> Encode(const RankMessage& message);
std::vector<Frame> Encode(const LeaderMessage& message);

std::optional<RankMessage> DecodeRankMessage(std::span<const FrameView> frames);
std::optional<LeaderMessage> DecodeLeaderMessage(std::span<const FrameView> frames);

}  // namespace emplace
