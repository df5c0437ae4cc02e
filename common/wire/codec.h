// Translates between the structs of messages.h and the frames of a multipart ZeroMQ message (messages.capnp says what
// is in which frame). Encoding cannot fail. Decoding takes untrusted bytes and never throws: it returns nullopt unless
// every length, index and enumeration is valid. The caller checks what the values mean, such as whether a graph has a
// device. Pure functions: any thread may call them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/wire/messages.h"

namespace emplace {

using Frame = std::string;                   // Raw bytes.
using FrameView = std::span<const uint8_t>;  // Not aligned.

// Upper limits of what decoding accepts, far above what is used. A receiver never allocates more than the bytes that it
// was sent and these limits.
inline constexpr size_t kMaxSteps = 1U << 20;                                   // Decisions of a trajectory.
inline constexpr size_t kMaxTextBytes = 4096;                                   // A name, an address or a reason.
inline constexpr size_t kMaxActorControlBytes = size_t{1} << 16;                // One frame of an ActorMessage.
inline constexpr size_t kMaxTrajectoryBytes = (kMaxSteps + 1) * sizeof(float);  // One frame of a trajectory.
inline constexpr size_t kMaxLearnerControlBytes = size_t{1} << 30;              // One frame of a LearnerMessage.
inline constexpr size_t kMaxEarlier = 16;                                       // Incarnations in a Hello.
inline constexpr size_t kMaxWork = 4096;                                        // Episodes in a Work.
inline constexpr size_t kMaxArrays = 1U << 20;                                  // Arrays of all tasks in a Welcome.
inline constexpr size_t kMaxRankBytes = size_t{1} << 30;                        // One frame of a RankMessage.
inline constexpr size_t kMaxRankArrays = 1U << 12;                              // Arrays of a RankData.
inline constexpr size_t kMaxMachineBytes = size_t{1} << 20;                     // The machine in a Welcome.

std::vector<Frame> Encode(const ActorMessage& message);
std::vector<Frame> Encode(const LearnerMessage& message);
std::vector<Frame> Encode(const RankMessage& message);
std::vector<Frame> Encode(const LeaderMessage& message);
// REQUIRES: array lengths are those that common/trajectory.h gives, and at most kMaxSteps decisions.
std::vector<Frame> Encode(const Trajectory& trajectory);

// Makes frame 0 of a Welcome for this actor from that for another; the other frames are the same for all actors.
// REQUIRES: Encode made `header`.
Frame WelcomeFor(const ActorKey& actor, const Frame& header);

std::optional<ActorMessage> DecodeActorMessage(std::span<const FrameView> frames);
std::optional<LearnerMessage> DecodeLearnerMessage(std::span<const FrameView> frames);
std::optional<RankMessage> DecodeRankMessage(std::span<const FrameView> frames);
std::optional<LeaderMessage> DecodeLeaderMessage(std::span<const FrameView> frames);
std::optional<Trajectory> DecodeTrajectory(std::span<const FrameView> frames);

// The XXH3-64 hash of the bytes, as in WeightsReply::hash.
uint64_t WeightsHash(std::string_view blob);

}  // namespace emplace
