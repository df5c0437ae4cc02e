// The arithmetic and the memory traffic of each kernel of an update, which bound its speed from above (the roofline).
// No CUDA needed.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "policy/placeto/cuda/compact_batch.h"

namespace emplace::gpu {

struct Problem;

struct KernelWork {
  const char* kernel;
  // Floating-point operations of the layers, of their gradients and of sums of partial gradients; a multiply-add counts
  // as two. What the kernel computes again counts, and so do the zeros that rows are padded with.
  double flops;
  // Of the arrays in global memory that the kernel reads or writes, each once: caches may keep the rest.
  double bytes;
};

// A batch in numbers.
struct UpdateLoad {
  struct States {
    double count = 0;
    double nodes = 0;  // Of the graphs of all states, one after the other
  };
  States small;            // States whose graph fits in shared memory
  States large;            // The others
  double input_bytes = 0;  // Of the graphs and the batch
};
UpdateLoad LoadOf(const CompactGraphs& graphs, std::span<const EpisodeSource> episodes,
                  std::span<const StateEntry> states, int32_t small_nodes);

// The kernels of LaunchUpdate in their order. The problem's pointers are not used.
std::vector<KernelWork> UpdateWork(const Problem& problem, const UpdateLoad& load);

}  // namespace emplace::gpu
