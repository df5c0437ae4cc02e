#include "tools/bench/scaling/growth_bench.h"

#include <algorithm>
#include <string>

#include "common/strings.h"
#include "policy/placeto/kernel/placeto_kernel.h"
#include "policy/placeto/placeto_graph.h"
#include "simulator/engine/simulator.h"
#include "simulator/environment/environment_config.h"
#include "simulator/environment/start_placement.h"
#include "tools/bench/harness/inputs.h"

namespace emplace::bench {
namespace {

// Microseconds a state: 16 episodes of random actions, step by step, without their simulations.
Figure KernelFigure(const std::string& name, const PlacementTask& task, const Effort& effort) {
  constexpr size_t kEpisodes = 16;
  const PlacetoGraph graph(task.groups);
  PlacetoKernel kernel(InitialWeights(graph.num_devices));
  Rng rng = Rng(1).Fork(name);
  std::vector<std::vector<uint8_t>> placements(kEpisodes);
  std::vector<float> logits(kEpisodes * static_cast<size_t>(graph.num_devices));
  std::vector<EpisodeCache> caches(kEpisodes);
  std::vector<EpisodeCache*> state_caches;
  for (EpisodeCache& cache : caches) state_caches.push_back(&cache);
  const std::vector<double> seconds = Repeat(effort.Repetitions(5), [&] {
    double in_kernel = 0;
    for (auto& placement : placements) StartPlacement(task, Start::kRandom, rng, placement);
    for (int32_t step = 0; step < graph.num_nodes; ++step) {
      std::vector<PlacetoState> states;
      for (const auto& placement : placements) states.push_back({&graph, placement.data(), step});
      in_kernel += Seconds([&] { kernel.Forward(states, state_caches, logits); });
      for (auto& placement : placements) {
        placement[static_cast<size_t>(step)] = static_cast<uint8_t>(rng.UniformInt(0, graph.num_devices - 1));
      }
    }
    return in_kernel;
  });
  const double states = static_cast<double>(kEpisodes) * graph.num_nodes;
  return Summarize(name, "us/state", Map(seconds, [&](double s) { return 1e6 * s / states; }));
}

// Nanoseconds an op: placements of one random graph with nothing in common.
Figure SimulatorFigure(const std::string& name, int32_t num_ops, int32_t num_devices, const Effort& effort) {
  const SimGraph graph = SimGraph::Compile(RandomDag(Rng(1).Fork("dag"), num_ops), PlainCluster(num_devices));
  Simulator simulator(graph);
  Rng rng = Rng(1).Fork("placements");
  const int32_t runs = std::max(2, 100'000 / num_ops);
  std::vector<Placement> placements;
  for (int32_t i = 0; i < runs; ++i) placements.push_back(RandomOpPlacement(rng, num_ops, num_devices));
  const std::vector<double> seconds = Repeat(effort.Repetitions(5), [&] {
    return Seconds([&] {
      for (const Placement& placement : placements) simulator.Makespan(placement);
    });
  });
  const double ops = static_cast<double>(runs) * num_ops;
  return Summarize(name, "ns/op", Map(seconds, [&](double s) { return 1e9 * s / ops; }));
}

}  // namespace

std::vector<Figure> GrowthWithGroups(const Effort& effort) {
  std::vector<Figure> figures;
  for (const int32_t groups : {32, 64, 128, 256, 512}) {
    const std::vector<PlacementTask> tasks = FamilyTasks("ptb", 1, "k80x2", groups);
    figures.push_back(KernelFigure(StrCat("groups|", tasks[0].groups.num_groups, "|policy kernel"), tasks[0], effort));
  }
  return figures;
}

std::vector<Figure> GrowthWithDevices(const Effort& effort) {
  std::vector<Figure> figures;
  for (const int32_t devices : {2, 4, 8}) {
    const std::vector<PlacementTask> tasks = FamilyTasks("ptb", 1, StrCat("k80x", devices));
    figures.push_back(KernelFigure(StrCat("devices|", devices, "|policy kernel"), tasks[0], effort));
    figures.push_back(SimulatorFigure(StrCat("devices|", devices, "|simulator"), 2000, devices, effort));
  }
  return figures;
}

std::vector<Figure> GrowthWithOps(const Effort& effort) {
  std::vector<Figure> figures;
  for (const int32_t ops : {1'000, 10'000, 100'000, 1'000'000}) {
    figures.push_back(SimulatorFigure(StrCat("ops|", ops, "|simulator"), ops, 4, effort));
  }
  return figures;
}

}  // namespace emplace::bench
