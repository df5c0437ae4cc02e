// A checkpoint folder, as three frames: policy.safetensors, optimizer.safetensors, state.json. Where the state says
// @policy, @optimizer or @state for a checksum it gets the right one, as whoever damages a checkpoint on purpose would
// see to.
#include <xxhash.h>

#include <cstdio>
#include <string>

#include "common/rng.h"
#include "learner/storage/checkpoint.h"
#include "tests/fuzz/frames.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

void PutChecksum(std::string& state, const std::string& place, const std::string& bytes) {
  const size_t at = state.find(place);
  if (at == std::string::npos) return;
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(XXH64(bytes.data(), bytes.size(), 0)));
  state.replace(at, place.size(), text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace emplace;
  std::vector<std::string> frames = SplitFrames(InputText(data, size));
  frames.resize(3);
  PutChecksum(frames[2], "@policy", frames[0]);
  PutChecksum(frames[2], "@optimizer", frames[1]);
  PutChecksum(frames[2], "@state", frames[2].substr(0, frames[2].rfind(",\n \"state_xxh64\"")));
  const auto checkpoint = Accepted([&] { return ParseCheckpoint({frames[0], frames[1], frames[2]}, "checkpoint"); });
  if (!checkpoint) return 0;
  const CheckpointFiles files = SerializeCheckpoint(*checkpoint);
  const CheckpointFiles again = SerializeCheckpoint(ParseCheckpoint(files, "written"));
  EMPLACE_CHECK(again.policy == files.policy && again.optimizer == files.optimizer && again.state == files.state);
  // What a resumed run does next: a state from which no number comes would hang it.
  Rng::FromState(checkpoint->rng_seed, checkpoint->rng_state).UniformInt(0, 6);
  return 0;
}
