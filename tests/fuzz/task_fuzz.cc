// The arrays of one task, a frame each, in the order and of the types in which SmallTopologyTask travels: what stands
// behind the frames of a Welcome, without the header that would have to be right about each of them.
#include "simulator/task/task_bundle.h"
#include "tests/fuzz/frames.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/play_episode.h"
#include "tests/fuzz/same_bundle.h"
#include "tests/fuzz/small_machine.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace emplace;
  static const ArrayBundle pattern = ToBundle(SmallTopologyTask());
  const std::vector<std::string> frames = SplitFrames(InputText(data, size));
  ArrayBundle bundle = pattern;
  for (size_t i = 0; i < bundle.arrays().size() && i < frames.size(); ++i) {
    bundle.arrays()[i].bytes.assign(frames[i].begin(), frames[i].end());
  }
  const auto task = Accepted([&] { return TaskFromBundle(bundle); });
  if (!task) return 0;
  const ArrayBundle written = ToBundle(*task);
  EMPLACE_CHECK(SameBundle(ToBundle(TaskFromBundle(written)), written));
  PlayEpisode(*task, {}, 1);
  return 0;
}
