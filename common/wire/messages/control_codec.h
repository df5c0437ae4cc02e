// Translates between the control messages of learner and actors and their frames. Encoding cannot fail. Decoding takes
// untrusted bytes and never throws: it returns nullopt unless every length, index and enumeration is valid. The caller
// checks what the values mean, such as whether a graph has a device. Pure functions: any thread may call them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "common/wire/messages/frames.h"
#include "common/wire/messages/messages.h"

namespace emplace {

std::vector<Frame> Encode(const ActorMessage& message);
std::vector<Frame> Encode(const LearnerMessage& message);

// Makes frame 0 of a Welcome for this actor from that for another; the other frames are the same for all actors.
// REQUIRES: Encode made `header`.
Frame WelcomeFor(const ActorKey& actor, const Frame& header);

std::optional<ActorMessage> DecodeActorMessage(std::span<const FrameView> frames);
std::optional<LearnerMessage> DecodeLearnerMessage(std::span<const FrameView> frames);

}  // namespace emplace
