// What a step would take if no other program took a core from its devices: the program once more, with the medians of
// the times that its ops and copies took. Single ops and copies mostly end before another program has its turn, where a
// whole step on several cores of a busy computer hardly ever does.
#pragma once

#include <vector>

#include "actor/hardware/program/step_program.h"

namespace emplace {

// In us. Each device runs its instructions in turn, and copies what others post to it, in the order in which it is
// posted, when an instruction awaits it, as StepRunner does. Left out: the time between ops, and that of waking a
// device that waits. So it is for comparing placements. op_us: [n]; copy_us: [values]; NaN: it took no time. REQUIRES:
// all devices are of the CPU, where the device that reads makes the copy.
double ReplayedStepUs(const StepProgram& program, const std::vector<double>& op_us, const std::vector<double>& copy_us);

}  // namespace emplace
