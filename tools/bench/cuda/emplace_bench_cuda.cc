// Measures the learner's update on a GPU: states a second, against LibTorch op by op on the same GPU, and the share of
// the GPU's peak in float32 multiply-adds. Prints one JSON document. Where there is no GPU it says so and exits 0.
//
//   emplace-bench-cuda [--states 512] [--groups 128] [--rounds 8] [--width 0] [--seconds 2]
#include <cuda_runtime_api.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/error.h"
#include "policy/placeto/cuda/update_cuda.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_kind.h"
#include "policy/placeto/placeto_shape.h"
#include "policy/placeto/reference/placeto_net.h"
#include "policy/policy_weights.h"
#include "simulator/environment/placement_task.h"
#include "simulator/families/family.h"

namespace emplace {
namespace {

struct Options {
  int32_t states = 512;
  int32_t groups = 128;
  int32_t rounds = 8;
  int32_t width = 0;
  double seconds = 2;
};

Cluster MakeCluster(int devices) {
  std::string yaml = "devices:\n";
  for (int d = 0; d < devices; ++d) {
    yaml += "  - {name: \"gpu:" + std::to_string(d) + "\", kind: k80, memory_bytes: 11.0e9}\n";
  }
  yaml += "op_overhead_us: 5.7\ntransfer: {bandwidth_bytes_per_us: 7600, overhead_us: 25}\n";
  return ParseCluster(yaml, "bench");
}

// Calls `once` until `seconds` have passed; calls a second. `wait` ends what is still under way.
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

// Floating-point operations of a state's forward pass, a multiply-add counted as two.
double ForwardFlops(const PlacetoShape& shape, double nodes) {
  const std::vector<LayerSpec> layers = PlacetoLayers(shape);
  double multiply_adds = 0;
  for (const LayerSpec& layer : layers) {
    const double size = static_cast<double>(layer.in) * layer.out;
    const bool message = layer.name.starts_with("forward.") || layer.name.starts_with("backward.");
    const bool pool = layer.name.find(".F.") != std::string::npos;
    const double times = message                           ? nodes * shape.message_rounds
                         : layer.name.starts_with("self.") ? nodes
                         : pool                            ? nodes / 3  // A node is in one of the three sets.
                                                           : 1;
    multiply_adds += times * size;
  }
  return 2 * multiply_adds;
}

double PeakFlops() {
  const auto attribute = [](cudaDeviceAttr name) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, name, 0) != cudaSuccess) throw RunFailed("cannot ask the device");
    return static_cast<double>(value);
  };
  const double major = attribute(cudaDevAttrComputeCapabilityMajor);
  const double units = major == 8 && attribute(cudaDevAttrComputeCapabilityMinor) == 0 ? 64 : 128;
  return attribute(cudaDevAttrMultiProcessorCount) * units * 2 * attribute(cudaDevAttrClockRate) * 1e3;
}

nlohmann::json Measure(const Options& options) {
  constexpr int kDevices = 4;
  const Cluster cluster = MakeCluster(kDevices);
  const Family family = GenerateFamily({.count = 1, .train = 1}, LoadDeviceKinds(DefaultKindsFolder()));
  const PlacementTask task = PlacementTask::MakeForEpisodes(family.graphs.front(), cluster, options.groups);
  const PlacetoGraph graph(task.groups);
  const PlacetoShape shape{.num_devices = kDevices,
                           .memory_feature = false,
                           .message_rounds = options.rounds,
                           .message_width = options.width};
  const PolicyWeights weights = InitialPlaceto(shape, Rng(1));
  Rng rng(2);
  const auto n = static_cast<size_t>(graph.num_nodes);
  std::vector<std::vector<uint8_t>> starts;
  std::vector<std::vector<uint8_t>> actions;
  std::vector<gpu::EpisodeSource> episodes;
  std::vector<gpu::StateEntry> states;
  constexpr int32_t kEpisodes = 16;
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
  const gpu::UpdateScalars scalars{
      .learning_rate = 1e-4, .gradient_clip = 1.25, .entropy_weight = 0.01F, .importance_clip = 2};
  const std::vector<const PlacetoGraph*> graphs = {&graph};

  gpu::UpdateCuda update(shape, graphs, weights.values);
  std::vector<float> values(weights.values.size());
  const double updates = PerSecond(
      options.seconds,
      [&] {
        if (update.in_flight() == gpu::UpdateCuda::kInFlight) update.Collect(values);
        update.Submit(episodes, states, scalars);
      },
      [&] {
        while (update.in_flight() > 0) update.Collect(values);
      });

  // LibTorch with the features already on the device, and without the optimizer: its best case.
  const torch::Device device(torch::kCUDA, 0);
  PlacetoNet net(weights, device);
  std::vector<std::vector<uint8_t>> placements;
  placements.reserve(states.size());
  std::vector<PlacetoState> policy_states;
  for (const gpu::StateEntry& state : states) {
    const auto e = static_cast<size_t>(state.episode);
    placements.push_back(starts[e]);
    std::copy_n(actions[e].begin(), state.step, placements.back().begin());
    policy_states.push_back({&graph, placements.back().data(), state.step});
  }
  const PlacetoBatch batch = MakePlacetoBatch(graph, policy_states, shape, device);
  const double eager = PerSecond(
      options.seconds,
      [&] {
        net.ZeroGradient();
        torch::log_softmax(net.Forward(batch), 1).select(1, 0).mean().backward();
      },
      [] { cudaDeviceSynchronize(); });

  const double flops = 3 * ForwardFlops(shape, graph.num_nodes);  // The way back is twice as long.
  cudaDeviceProp properties{};
  cudaGetDeviceProperties(&properties, 0);
  return {{"gpu", properties.name},
          {"groups", graph.num_nodes},
          {"width", shape.width()},
          {"rounds", options.rounds},
          {"states", options.states},
          {"update_states_per_s", updates * options.states},
          {"libtorch_states_per_s", eager * options.states},
          {"times_libtorch", updates / eager},
          {"flops_per_state", flops},
          {"share_of_float32_peak", updates * options.states * flops / PeakFlops()}};
}

int Main(int argc, char** argv) {
  CLI::App app{"Measures the learner's update on a GPU."};
  Options options;
  app.add_option("--states", options.states, "Number of states in one update")->check(CLI::Range(1, 1 << 20));
  app.add_option("--groups", options.groups, "Largest number of groups of the graph")->check(CLI::Range(1, 1 << 16));
  app.add_option("--rounds", options.rounds, "Number of message-passing rounds of the policy")
      ->check(CLI::Range(0, 100));
  app.add_option("--width", options.width, "Width of the policy's messages; 0: the number of features")
      ->check(CLI::Range(0, 256));
  app.add_option("--seconds", options.seconds, "Seconds that each measurement takes")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  const std::string why_not = gpu::WhyNoGpu();
  if (!why_not.empty()) {
    std::cout << "no CUDA device, nothing measured: " << why_not << "\n";
    return 0;
  }
  std::cout << Measure(options).dump(2) << "\n";
  return 0;
}

}  // namespace
}  // namespace emplace

int main(int argc, char** argv) {
  return emplace::RunMain("emplace-bench-cuda", [&] { return emplace::Main(argc, argv); });
}
