// Structs of messages.h <-> frames of a multipart ZeroMQ message (messages.capnp says what is in which frame).
// Encoding takes our own data and cannot fail; decoding takes bytes from anywhere and never throws: nullopt unless
// every length, index and enumeration fits. What the values mean (is this a device of that graph?) is for the caller to
// check. Pure functions: any thread may call them.
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
using FrameView = std::span<const uint8_t>;  // Of any alignment.

// Bounds of what is accepted. Far above use; a receiver never allocates more than it was sent, plus these.
inline constexpr size_t kMaxSteps = 1U << 20;                                   // T of a trajectory.
inline constexpr size_t kMaxTextBytes = 4096;                                   // A name, an address, a reason.
inline constexpr size_t kMaxActorControlBytes = size_t{1} << 16;                // One frame of an ActorMessage.
inline constexpr size_t kMaxTrajectoryBytes = (kMaxSteps + 1) * sizeof(float);  // One frame of a trajectory.
inline constexpr size_t kMaxLearnerControlBytes = size_t{1} << 30;              // One frame of a LearnerMessage.
inline constexpr size_t kMaxEarlier = 16;                                       // Incarnations in a Hello.
inline constexpr size_t kMaxWork = 4096;                                        // Episodes in a Work.
inline constexpr size_t kMaxArrays = 1U << 20;                                  // Of all tasks of one Welcome.

std::vector<Frame> Encode(const ActorMessage& message);
std::vector<Frame> Encode(const LearnerMessage& message);
std::vector<Frame> Encode(const Notice& notice);
// REQUIRES: array lengths are those that common/trajectory.h gives, and at most kMaxSteps steps.
std::vector<Frame> Encode(const Trajectory& trajectory);

// Frame 0 of a Welcome, made for another actor: the others are the same for all. REQUIRES: Encode made it.
Frame WelcomeFor(const ActorKey& actor, const Frame& header);

std::optional<ActorMessage> DecodeActorMessage(std::span<const FrameView> frames);
std::optional<LearnerMessage> DecodeLearnerMessage(std::span<const FrameView> frames);
std::optional<Notice> DecodeNotice(std::span<const FrameView> frames);
std::optional<Trajectory> DecodeTrajectory(std::span<const FrameView> frames);

// XXH3-64, as in WeightsReply::hash.
uint64_t WeightsHash(std::string_view blob);

}  // namespace emplace
