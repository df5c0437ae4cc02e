// A Welcome, as an actor gets it from whoever says to be the learner: decoded, unpacked, and one episode of each graph.
#include "actor/session.h"
#include "common/wire/messages/control_codec.h"
#include "tests/fuzz/frames.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/play_episode.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace emplace;
  std::optional<LearnerMessage> message = DecodeLearnerMessage(FrameViews(SplitFrames(InputText(data, size))));
  if (!message || !std::holds_alternative<Welcome>(*message)) return 0;
  const auto session = Accepted([&] { return UnpackWelcome(std::get<Welcome>(*std::move(message))); });
  if (!session) return 0;
  EMPLACE_CHECK(!session->tasks.empty());
  for (const PlacementTask& task : session->tasks) PlayEpisode(task, session->config.environment, 1);
  return 0;
}
