// A step that ran on real devices, as the timeline of a simulated one, so that both are shown alike.
#pragma once

#include "actor/hardware/program/step_program.h"
#include "actor/hardware/step_runner.h"
#include "simulator/engine/sim_graph.h"
#include "simulator/engine/timeline.h"
#include "simulator/graph/op_graph.h"

namespace emplace {

// What is given is there at 0, and ops that the executor does not run begin and end with the step. A transfer is the
// copying by the device that reads. Signals of control edges and peaks of memory are not measured, and left out.
// REQUIRES: sim is made of graph; program is the graph's, and times are those of its step.
Timeline MeasuredTimeline(const OpGraph& graph, const SimGraph& sim, const StepProgram& program,
                          const StepTimes& times);

}  // namespace emplace
