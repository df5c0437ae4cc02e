// Two optimizer steps as rank 0 sends them to the others: a frame for each array of the first one, in the order and of
// the types in which a step travels, then a frame for each array of the second. An empty frame is an array that is left
// out. What is accepted is computed, as a rank does.
#include <array>

#include "learner/ranks/step_message.h"
#include "learner/update/model_engine.h"
#include "policy/models.h"
#include "policy/policy_kinds.h"
#include "tests/fuzz/frames.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/same_bundle.h"
#include "tests/fuzz/small_machine.h"
#include "tests/fuzz/small_step.h"

namespace emplace {
namespace {

void ComputeAsARank(const ReceivedStep& step, const std::vector<PlacementTask>& tasks, const PolicyWeights& policy) {
  const PolicyKind& kind = FindPolicyKind(policy.shape.kind);
  const ArrayBundle written = ToBundle(step.inputs(), policy.values);
  EMPLACE_CHECK(SameBundle(ToBundle(ReceivedStep(written, tasks, kind).inputs(), policy.values), written));
  std::vector<float> values(policy.values.size());
  MakeModelEngine(MakeModel(policy.shape, tasks), policy, /*shards=*/3)->Step(step.inputs(), values);
}

}  // namespace
}  // namespace emplace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace emplace;
  static const std::vector<PlacementTask> tasks = SmallTasks();
  static const PolicyWeights policy = NarrowPolicy();
  static const ArrayBundle pattern = SmallStep(tasks).ToArrays(policy.values);
  const std::vector<std::string> frames = SplitFrames(InputText(data, size));
  const size_t count = pattern.arrays().size();
  std::array<ArrayBundle, 2> messages;
  for (size_t i = 0; i < 2 * count && i < frames.size(); ++i) {
    if (frames[i].empty()) continue;
    NamedArray array = pattern.arrays()[i % count];
    array.bytes.assign(frames[i].begin(), frames[i].end());
    messages[i / count].arrays().push_back(std::move(array));
  }
  ArrayBundle step;
  for (ArrayBundle& message : messages) {
    TakeChanges(std::move(message), step);
    for (const std::string& name : PolicyKindNames()) {
      const auto received = Accepted([&] { return ReceivedStep(step, tasks, FindPolicyKind(name)); });
      if (received && name == policy.shape.kind) ComputeAsARank(*received, tasks, policy);
    }
  }
  return 0;
}
