// policy.safetensors, as a user gives it to `emplace place` or a learner sends it, up to a placement made with it.
#include "policy/placer/policy_placer.h"
#include "policy/players.h"
#include "policy/policy_weights.h"
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

  const std::unique_ptr<Player> player = MakePlayer(*policy);
  for (const PlacementTask& task : tasks) {
    const auto placed = Accepted([&] { return PlaceWithPolicy(*player, task, {.samples = 2}); });
    if (!placed) continue;
    for (size_t group = 0; group < placed->groups.size(); ++group) {
      EMPLACE_CHECK(task.groups.Allowed(group, placed->groups[group]));
    }
  }
  return 0;
}
