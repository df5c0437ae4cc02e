// Which instructions the policy's kernels use. Chosen at run time: one binary runs on every processor.
#pragma once

#include <string>
#include <vector>

namespace emplace {

enum class KernelPath { kPortable, kAvx2, kAvx512 };
std::string ToString(KernelPath path);

// What this processor runs, slowest first; kPortable is always among them.
std::vector<KernelPath> KernelPaths();
// The fastest of them.
KernelPath BestKernelPath();
// Throws BadInput when this processor does not run `path`.
void CheckRuns(KernelPath path);

}  // namespace emplace
