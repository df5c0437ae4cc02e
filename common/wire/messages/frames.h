// A message between processes as the frames of a multipart ZeroMQ message, and the limits of what is accepted.
// messages.capnp says what is in which frame. The codecs translate: control_codec.h, trajectory_codec.h, rank_codec.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

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
inline constexpr size_t kMaxWork = 65536;                                       // Episodes in a Work.
inline constexpr size_t kMaxArrays = 1U << 20;                                  // Arrays of all tasks in a Welcome.
inline constexpr size_t kMaxRankBytes = size_t{1} << 30;                        // One frame of a RankMessage.
inline constexpr size_t kMaxRankArrays = 1U << 12;                              // Arrays of a RankData.
inline constexpr size_t kMaxMachineBytes = size_t{1} << 26;                     // The machine in a Welcome.

}  // namespace emplace
