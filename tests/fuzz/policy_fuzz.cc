// policy.safetensors, as a user gives it to `emplace place` or a learner sends it, up to a placement made with it.
#include "common/policy/policy_weights.h"
#include "simulator/environment/policy_placer.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/small_machine.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace emplace;
  static const std::vector<PlacementTask> tasks = SmallTasks();
  const auto policy = Accepted([&] { return ParsePolicy(InputText(data, size), "policy"); });
  if (!policy) return 0;
  const std::string written = SerializePolicy(*policy);
  const PolicyWeights again = ParsePolicy(written, "written");
  EMPLACE_CHECK(SerializePolicy(again) == written);
  EMPLACE_CHECK(again.shape == policy->shape && again.version == policy->version && again.values == policy->values);
  EMPLACE_CHECK(again.metadata == policy->metadata);

  PolicyKernel kernel(*policy);
  for (const PlacementTask& task : tasks) {
    const auto placed = Accepted([&] { return PlaceWithPolicy(kernel, task, {.samples = 2}); });
    if (!placed) continue;
    for (size_t group = 0; group < placed->groups.size(); ++group) {
      const size_t row = group * static_cast<size_t>(task.policy.num_devices);
      EMPLACE_CHECK(task.policy.allowed[row + placed->groups[group]] == 1);
    }
  }
  return 0;
}
