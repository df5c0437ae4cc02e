#include "actor/hardware/measuring/measured_timeline.h"

#include <algorithm>
#include <cmath>

namespace emplace {

Timeline MeasuredTimeline(const OpGraph& graph, const SimGraph& sim, const StepProgram& program,
                          const StepTimes& times) {
  Timeline timeline;
  timeline.makespan_us = times.step_us;
  timeline.start_us = times.op_begin_us;
  timeline.finish_us = times.op_end_us;
  for (size_t op = 0; op < timeline.start_us.size(); ++op) {
    if (!std::isnan(timeline.finish_us[op])) continue;
    const double at_us = IsGiven(graph.ops()[op]) ? 0 : times.step_us;
    timeline.start_us[op] = at_us;
    timeline.finish_us[op] = at_us;
  }
  for (size_t value = 0; value < program.values.size(); ++value) {
    const StepValue& copy = program.values[value];
    if (copy.source == StepValue::kNone || std::isnan(times.copy_end_us[value])) continue;
    timeline.transfers.push_back({.tensor = sim.TensorOf(graph, copy.op, copy.output),
                                  .from = program.values[static_cast<size_t>(copy.source)].device,
                                  .to = copy.device,
                                  .start_us = times.copy_begin_us[value],
                                  .sent_us = times.copy_end_us[value],
                                  .delivered_us = times.copy_end_us[value],
                                  .free_us = times.copy_end_us[value]});
  }
  std::ranges::stable_sort(timeline.transfers, {}, &Transfer::start_us);
  return timeline;
}

}  // namespace emplace
