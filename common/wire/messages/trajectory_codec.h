// Translates between trajectories and their frames. Decoding takes untrusted bytes and never throws: it returns nullopt
// unless every length and enumeration is valid. The caller checks what the values mean, such as whether a graph has a
// device. Pure functions: any thread may call them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "common/trajectory.h"
#include "common/wire/messages/frames.h"

namespace emplace {

// REQUIRES: array lengths are those that common/trajectory.h gives, and at most kMaxSteps decisions.
std::vector<Frame> Encode(const Trajectory& trajectory);

std::optional<Trajectory> DecodeTrajectory(std::span<const FrameView> frames);

}  // namespace emplace
