#include "tools/bench/cuda/gpu_bench.h"

#include <cuda_runtime_api.h>

#include <chrono>
#include <iostream>
#include <string>

#include "common/error.h"
#include "policy/placeto/placeto_kind.h"
#include "simulator/families/family.h"

namespace emplace {
namespace {

constexpr int kDevices = 4;

Cluster MakeCluster() {
  std::string yaml = "devices:\n";
  for (int d = 0; d < kDevices; ++d) {
    yaml += "  - {name: \"gpu:" + std::to_string(d) + "\", kind: k80, memory_bytes: 11.0e9}\n";
  }
  yaml += "op_overhead_us: 5.7\ntransfer: {bandwidth_bytes_per_us: 7600, overhead_us: 25}\n";
  return ParseCluster(yaml, "bench");
}

PlacementTask MakeTask(int32_t groups) {
  const Family family = GenerateFamily({.count = 1, .train = 1}, LoadDeviceKinds(DefaultKindsFolder()));
  return PlacementTask::MakeForEpisodes(family.graphs.front(), MakeCluster(), groups);
}

}  // namespace

void AddGpuBenchOptions(GpuBenchOptions& options, CLI::App& app) {
  app.add_option("--states", options.states, "Number of states in one update")->check(CLI::Range(1, 1 << 20));
  app.add_option("--groups", options.groups, "Largest number of groups of the graph")->check(CLI::Range(1, 1 << 16));
  app.add_option("--rounds", options.rounds, "Number of message-passing rounds of the policy")
      ->check(CLI::Range(0, 100));
  app.add_option("--width", options.width, "Width of the policy's messages; 0: the number of features")
      ->check(CLI::Range(0, 256));
  app.add_option("--seconds", options.seconds, "Seconds that each measurement takes")->check(CLI::PositiveNumber);
}

GpuBatch::GpuBatch(const GpuBenchOptions& options)
    : task(MakeTask(options.groups)),
      graph(task.groups),
      shape{.num_devices = kDevices,
            .memory_feature = false,
            .message_rounds = options.rounds,
            .message_width = options.width},
      weights(InitialPlaceto(shape, Rng(1))) {
  constexpr int32_t kEpisodes = 16;
  Rng rng(2);
  const auto n = static_cast<size_t>(graph.num_nodes);
  for (int32_t e = 0; e < kEpisodes; ++e) {
    for (auto* list : {&starts, &actions}) {
      list->emplace_back(n);
      for (uint8_t& device : list->back()) device = static_cast<uint8_t>(rng.UniformInt(0, kDevices - 1));
    }
  }
  for (size_t e = 0; e < kEpisodes; ++e) episodes.push_back({0, starts[e], actions[e]});
  for (int32_t s = 0; s < options.states; ++s) {
    states.push_back({s % kEpisodes, static_cast<int32_t>(rng.UniformInt(0, graph.num_nodes - 1)),
                      static_cast<float>(rng.Uniform(-1, 1)), -1.0F, 0.0F});
  }
}

nlohmann::json GpuBatch::Describe() const {
  return {{"groups", graph.num_nodes},
          {"devices", kDevices},
          {"width", shape.width()},
          {"rounds", shape.message_rounds},
          {"states", states.size()}};
}

double PerSecond(double seconds, const std::function<void()>& once, const std::function<void()>& wait) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < 3; ++i) once();
  wait();
  const Clock::time_point start = Clock::now();
  int64_t calls = 0;
  double passed = 0;
  do {
    once();
    ++calls;
    passed = std::chrono::duration<double>(Clock::now() - start).count();
  } while (passed < seconds);
  wait();
  return static_cast<double>(calls) / std::chrono::duration<double>(Clock::now() - start).count();
}

double UpdatesPerSecond(gpu::UpdateCuda& update, const GpuBatch& batch, double seconds) {
  std::vector<float> values(batch.weights.values.size());
  return PerSecond(
      seconds, [&] { update.Update(batch.episodes, batch.states, batch.scalars, values); }, [] {});
}

int PrintMeasured(const std::function<nlohmann::json()>& measure) {
  const std::string why_not = gpu::WhyNoGpu();
  if (!why_not.empty()) {
    std::cerr << "no CUDA device, nothing measured: " << why_not << "\n";
    return kNoGpu;
  }
  nlohmann::json document = measure();
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) throw RunFailed("cannot ask the device");
  document["gpu"] = properties.name;
  std::cout << document.dump(2) << "\n";
  return 0;
}

}  // namespace emplace
