#include "simulator/engine/single_device.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/graph/placement.h"
#include "tests/support/event_queue_oracle.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

TEST(FindSingleDevice, EqualsTheOracle) {
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.restricted = seed % 2 == 0 ? 0.1 : 0});
    const SingleDevice found = FindSingleDevice(SimGraph::Compile(source.graph, source.cluster));
    SingleDevice best;
    bool best_fits = false;
    for (size_t d = 0; d < source.cluster.devices.size(); ++d) {
      const Device& device = source.cluster.devices[d];
      if (!std::all_of(source.graph.ops().begin(), source.graph.ops().end(),
                       [&](const Op& op) { return op.AllowedOn(device.kind); })) {
        continue;
      }
      const Placement placement(source.graph.ops().size(), static_cast<DeviceIndex>(d));
      const OracleRun run = SimulateByEventQueue(source.graph, source.cluster, placement);
      const bool fits = run.peak_bytes[d] <= device.memory_bytes;
      if (fits > best_fits || (fits == best_fits && run.makespan_us < best.makespan_us)) {
        best = {static_cast<DeviceIndex>(d), run.makespan_us};
        best_fits = fits;
      }
    }
    ASSERT_EQ(found.device < 0, best.device < 0) << "seed " << seed;
    if (best.device < 0) continue;
    ASSERT_NEAR(found.makespan_us, best.makespan_us, 1e-9) << "seed " << seed;
  }
}

}  // namespace
}  // namespace emplace
