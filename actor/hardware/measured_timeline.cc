#include "actor/hardware/measured_timeline.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace emplace {
namespace {

// [n] the outputs of each op that somebody reads, control signals last: as SimGraph orders an op's tensors.
std::vector<std::set<int32_t>> OutputsRead(const OpGraph& graph) {
  std::vector<std::set<int32_t>> read(static_cast<size_t>(graph.num_ops()));
  for (const Op& op : graph.ops()) {
    for (const OpInput& input : op.inputs) {
      if (input.output != OpInput::kControl) read[static_cast<size_t>(input.producer)].insert(input.output);
    }
  }
  return read;
}

}  // namespace

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
  const std::vector<std::set<int32_t>> read = OutputsRead(graph);
  for (size_t value = 0; value < program.values.size(); ++value) {
    const StepValue& copy = program.values[value];
    if (copy.source == StepValue::kNone || std::isnan(times.copy_end_us[value])) continue;
    const auto op = static_cast<size_t>(copy.op);
    const auto tensor = std::distance(read[op].begin(), read[op].find(copy.output));
    timeline.transfers.push_back({.tensor = sim.tensor_begin[op] + static_cast<int32_t>(tensor),
                                  .from = program.values[static_cast<size_t>(copy.source)].device,
                                  .to = copy.device,
                                  .start_us = times.copy_begin_us[value],
                                  .delivered_us = times.copy_end_us[value],
                                  .free_us = times.copy_end_us[value]});
  }
  std::ranges::stable_sort(timeline.transfers, {}, &Transfer::start_us);
  return timeline;
}

}  // namespace emplace
