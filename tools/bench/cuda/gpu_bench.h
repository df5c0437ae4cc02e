// What the programs of this folder have in common: their options, the batch whose update they measure, and how they
// print a measurement.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "policy/placeto/cuda/update_cuda.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"
#include "policy/policy_weights.h"
#include "simulator/task/placement_task.h"

namespace emplace {

struct GpuBenchOptions {
  int32_t states = 512;
  int32_t groups = 128;
  int32_t rounds = 8;
  int32_t width = 0;
  double seconds = 2;
};
void AddGpuBenchOptions(GpuBenchOptions& options, CLI::App& app);

// States drawn from 16 random episodes on one ptb graph and four devices, and a policy for them. Not to be moved: its
// parts point to each other.
class GpuBatch {
 public:
  explicit GpuBatch(const GpuBenchOptions& options);
  GpuBatch(const GpuBatch&) = delete;
  GpuBatch& operator=(const GpuBatch&) = delete;

  const PlacementTask task;
  const PlacetoGraph graph;
  const PlacetoShape shape;
  const PolicyWeights weights;
  std::vector<std::vector<uint8_t>> starts;   // Of each episode
  std::vector<std::vector<uint8_t>> actions;  // Likewise
  std::vector<gpu::EpisodeSource> episodes;
  std::vector<gpu::StateEntry> states;
  const gpu::UpdateScalars scalars{
      .learning_rate = 1e-4, .gradient_clip = 1.25, .entropy_weight = 0.01F, .importance_clip = 2};

  // What the document of a measurement says of the batch.
  nlohmann::json Describe() const;
};

// Calls `once` until `seconds` have passed; calls a second. `wait` ends what is still under way.
double PerSecond(double seconds, const std::function<void()>& once, const std::function<void()>& wait);
// Updates a second, one after the other.
double UpdatesPerSecond(gpu::UpdateCuda& update, const GpuBatch& batch, double seconds);

// Prints what measure() returns, with the name of the GPU. Where there is none it says in one line that nothing was
// measured. Returns the exit code: kNoGpu then, else 0.
inline constexpr int kNoGpu = 77;
int PrintMeasured(const std::function<nlohmann::json()>& measure);

}  // namespace emplace
