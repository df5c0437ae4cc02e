// A trajectory from an actor, as frames: decoded, then checked against the small tasks as the learner checks it.
#include <cmath>

#include "common/wire/messages/trajectory_codec.h"
#include "learner/intake/trajectory_check.h"
#include "policy/placeto/placeto_kind.h"
#include "tests/fuzz/frames.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/small_machine.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace emplace;
  static const std::vector<PlacementTask> tasks = SmallTasks();
  static TrajectoryChecker checker(tasks, PlacetoKind(), {});
  const std::optional<Trajectory> trajectory = DecodeTrajectory(FrameViews(SplitFrames(InputText(data, size))));
  if (!trajectory || CheckShape(tasks, PlacetoKind(), *trajectory)) return 0;
  for (size_t steps = 0; steps <= trajectory->actions.size(); ++steps) {
    const TrajectoryChecker::Outcome outcome = checker.CheckPoint(*trajectory, steps);
    EMPLACE_CHECK(std::isfinite(outcome.makespan_us) && outcome.makespan_us > 0);
  }
  // Whatever was checked before, of equal seeds.
  const TrajectoryChecker::Outcome first = TrajectoryChecker(tasks, PlacetoKind(), {}, {}, 1).Check(*trajectory);
  const TrajectoryChecker::Outcome second = TrajectoryChecker(tasks, PlacetoKind(), {}, {}, 1).Check(*trajectory);
  EMPLACE_CHECK(first.reason == second.reason && first.makespan_us == second.makespan_us);
  return 0;
}
