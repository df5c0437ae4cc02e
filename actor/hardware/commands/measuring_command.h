// `emplace-hardware measure`: the process in which an actor has steps run and timed (measuring_process.h). It speaks
// with the actor alone, over the socket that is its standard input, in JSON, and writes a byte to its standard output
// at the end of each step:
//
//   {"machine": YAML, "graphs": [JSON text...], "references": [device...], "times_parts": bool}
//                                             first of all; checks that they can be run
//   {"reference": graph}                      makes ready and runs the placement of all ops on the graph's reference
//   device
//   {"prepare": graph, "ops": [device...], "orders": [[op...]...]}    does the same for a placement
//   {"warmup": n, "steps": n, "window_s": s}  times both, alternately: {"reference": series, "placement": series}, each
//                                             as step_messages.h writes it
//
// The other answers are {}, {"failed": reason} for a placement that failed, and {"bad_input": reason} for a graph that
// cannot be run at all. After either of these the process is of no use any more.
#pragma once

#include <string>
#include <vector>

namespace emplace {

// Program and arguments that start this process, for MeasuringProcess.
std::vector<std::string> MeasureCommandLine();

}  // namespace emplace
