// Every message between processes, as the frames of a multipart message, through every decoder.
#include <optional>

#include "common/wire/messages/control_codec.h"
#include "common/wire/messages/rank_codec.h"
#include "common/wire/messages/trajectory_codec.h"
#include "tests/fuzz/frames.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

// What has been decoded is encoded and decoded again to the same frames.
template <typename Decode>
void CheckRoundTrip(const std::vector<emplace::Frame>& frames, Decode decode) {
  using namespace emplace;
  const auto message = decode(FrameViews(frames));
  if (!message) return;
  const std::vector<Frame> encoded = Encode(*message);
  const auto again = decode(FrameViews(encoded));
  EMPLACE_CHECK(again.has_value());
  EMPLACE_CHECK(Encode(*again) == encoded);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace emplace;
  const std::vector<Frame> frames = SplitFrames(InputText(data, size));
  CheckRoundTrip(frames, DecodeActorMessage);
  CheckRoundTrip(frames, DecodeLearnerMessage);
  CheckRoundTrip(frames, DecodeRankMessage);
  CheckRoundTrip(frames, DecodeLeaderMessage);
  CheckRoundTrip(frames, DecodeTrajectory);
  return 0;
}
