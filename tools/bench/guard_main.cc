// emplace-bench-guard PATH: one hot path on fixed inputs, for tools/bench/guard.py to count the instructions of. What
// counts is what happens inside `emplace_guard_measured`. Inputs come from integer draws, and no clock, thread or file
// is involved, so that a count depends on the compiler, its flags and the C library alone.
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/strings.h"
#include "common/wire/messages/trajectory_codec.h"
#include "learner/intake/trajectory_check.h"
#include "policy/placeto/kernel/placeto_kernel.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_kind.h"
#include "simulator/engine/simulator.h"
#include "simulator/environment/environment_config.h"
#include "simulator/environment/start_placement.h"
#include "tools/bench/harness/inputs.h"

// Callgrind is told this name. Not inlined, and not to be merged with a copy.
extern "C" [[gnu::noinline, gnu::noclone]] void emplace_guard_measured(const std::function<void()>& path) {
  path();
  asm volatile("" ::: "memory");  // No tail call: the name has to be on the stack.
}

namespace emplace::bench {
namespace {

constexpr int32_t kOps = 2000;
constexpr int32_t kGroups = 128;
constexpr int kNotHere = 77;  // Exit code: this processor does not run the path.

PlacementTask RandomTask() {
  return PlacementTask::MakeForEpisodes(RandomDag(Rng(1).Fork("dag"), kOps), PlainCluster(4), kGroups);
}

// Placements with nothing in common.
void MeasureSimulator() {
  const SimGraph graph = SimGraph::Compile(RandomDag(Rng(1).Fork("dag"), kOps), PlainCluster(4));
  Simulator simulator(graph);
  Rng rng(2);
  std::vector<Placement> placements;
  for (int i = 0; i < 4; ++i) placements.push_back(RandomOpPlacement(rng, kOps, graph.num_devices));
  simulator.Makespan(placements.back());
  emplace_guard_measured([&] {
    for (const Placement& placement : placements) simulator.Makespan(placement);
  });
}

// The first 32 steps of two episodes.
void MeasureKernel(KernelPath path) {
  const PlacementTask task = RandomTask();
  const PlacetoGraph graph(task.groups);
  PlacetoKernel kernel(InitialWeights(task.groups.num_devices), path);
  Rng rng(3);
  std::vector<std::vector<uint8_t>> placements(2);
  for (auto& placement : placements) StartPlacement(task, Start::kRandom, rng, placement);
  std::vector<float> logits(placements.size() * static_cast<size_t>(task.groups.num_devices));
  std::vector<EpisodeCache> caches(placements.size());
  std::vector<EpisodeCache*> state_caches;
  for (EpisodeCache& cache : caches) state_caches.push_back(&cache);
  std::vector<PlacetoState> states;
  const auto forward = [&](int32_t step) {
    states.clear();
    for (const auto& placement : placements) states.push_back({&graph, placement.data(), step});
    kernel.Forward(states, state_caches, logits);
  };
  forward(task.groups.num_groups - 1);  // Allocates.
  emplace_guard_measured([&] {
    for (int32_t step = 0; step < 32; ++step) {
      forward(step);
      for (auto& placement : placements) {
        placement[static_cast<size_t>(step)] = static_cast<uint8_t>(rng.UniformInt(0, task.groups.num_devices - 1));
      }
    }
  });
}

// What the thread that receives does with an episode.
void MeasureTrajectory() {
  const std::vector<PlacementTask> tasks = {RandomTask()};
  Rng rng(4);
  Trajectory episode;
  StartPlacement(tasks[0], Start::kRandom, rng, episode.start_placement);
  episode.actions = episode.start_placement;
  episode.behaviour_log_prob.assign(episode.actions.size(), -1);
  episode.rho.assign(episode.actions.size() + 1, 1);
  const std::vector<Frame> frames = Encode(episode);
  std::vector<FrameView> views;
  for (const Frame& frame : frames) views.emplace_back(reinterpret_cast<const uint8_t*>(frame.data()), frame.size());
  const auto take_in = [&] {
    const std::optional<Trajectory> decoded = DecodeTrajectory(views);
    EMPLACE_CHECK(decoded.has_value() && !CheckShape(tasks, PlacetoKind(), *decoded));
  };
  take_in();
  emplace_guard_measured([&] {
    for (int i = 0; i < 1000; ++i) take_in();
  });
}

int Run(int argc, char** argv) {
  const std::map<std::string, std::function<void()>> paths = {
      {"simulator", MeasureSimulator},
      {"kernel_portable", [] { MeasureKernel(KernelPath::kPortable); }},
      {"kernel_avx2", [] { MeasureKernel(KernelPath::kAvx2); }},
      {"trajectory", MeasureTrajectory},
  };
  const std::string name = argc == 2 ? argv[1] : "";
  const auto path = paths.find(name);
  if (path == paths.end())
    throw BadInput(StrCat("path is '", name, "', expected simulator, kernel_portable, kernel_avx2 or trajectory"));
  if (name == "kernel_avx2" && BestKernelPath() == KernelPath::kPortable) return kNotHere;
  path->second();
  return 0;
}

}  // namespace
}  // namespace emplace::bench

int main(int argc, char** argv) {
  return emplace::RunMain("emplace-bench-guard", [&] { return emplace::bench::Run(argc, argv); });
}
