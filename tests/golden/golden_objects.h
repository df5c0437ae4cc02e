// The objects that the files in golden/files hold: one of each format, with every field set.
#pragma once

#include <string>
#include <vector>

#include "common/wire/messages/frames.h"
#include "learner/storage/checkpoint.h"
#include "policy/policy_weights.h"

namespace emplace {

PolicyWeights GoldenPolicy();
Checkpoint GoldenCheckpoint();

struct GoldenMessage {
  std::string name;
  std::vector<Frame> frames;
};
// One of every message that processes send each other.
std::vector<GoldenMessage> GoldenMessages();

// A message as one file: for each frame its length as eight bytes, little-endian, and then its bytes.
std::string JoinedFrames(const std::vector<Frame>& frames);
std::vector<Frame> SplitIntoFrames(const std::string& bytes);

}  // namespace emplace
