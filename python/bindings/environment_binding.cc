// Placement episodes, several side by side, for emplace.gym.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/task_inputs.h"
#include "common/error.h"
#include "common/strings.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "simulator/environment/vector_env.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace emplace::python {
namespace {

EnvironmentConfig ConfigOf(const std::string& start, const std::string& reward, double memory_penalty,
                           double memory_penalty_cap) {
  EnvironmentConfig config;
  if (start != "random" && start != "single")
    throw BadInput(StrCat("start is '", start, "', expected random or single"));
  config.start = StartFromText(start, "start");
  config.reward = RewardFromText(reward, "reward");
  config.memory_penalty = memory_penalty;
  config.memory_penalty_cap = memory_penalty_cap;
  EnvironmentFields().CheckAll(config);
  return config;
}

void MakeEpisodes(VectorEnv* where, const OpGraph& graph, const Cluster& cluster, size_t count, int32_t max_groups,
                  const std::string& start, const std::string& reward, double memory_penalty,
                  double memory_penalty_cap) {
  CheckKinds(graph, cluster);
  PlacementTask task = PlacementTask::MakeForEpisodes(graph, cluster, MaxGroups(max_groups, nullptr));
  const EnvironmentConfig config = ConfigOf(start, reward, memory_penalty, memory_penalty_cap);
  if (count < 1) throw BadInput("num_envs is 0, expected at least 1");
  new (where) VectorEnv(std::move(task), config, count);
}

template <typename T, typename Write>
NumpyArray<T> Gather(const VectorEnv& episodes, size_t row, Write write) {
  std::vector<T> values(episodes.count() * row);
  for (size_t i = 0; i < episodes.count(); ++i) write(i, values.data() + i * row);
  return ToNumpy(std::move(values), {episodes.count(), row});
}

NumpyArray<int32_t> GroupEdges(const VectorEnv& episodes) {
  const GroupGraph& groups = episodes.task().groups;
  std::vector<int32_t> edges;
  for (GroupIndex group = 0; group < groups.num_groups; ++group) {
    for (const int32_t child : groups.children.Row(group)) edges.insert(edges.end(), {group, child});
  }
  const size_t rows = edges.size() / 2;
  return ToNumpy(std::move(edges), {rows, 2});
}

NumpyArray<int32_t> OpPlacement(const VectorEnv& episodes, size_t index) {
  std::vector<int32_t> ops(static_cast<size_t>(episodes.task().sim.num_ops));
  episodes.task().Expand(episodes.env(index).placement(), ops);
  return ToNumpy(std::move(ops));
}

}  // namespace

void BindEnvironment(nb::module_& module) {
  nb::class_<VectorEnv>(module, "Episodes", "k placement episodes of one graph on one machine, for emplace.gym.")
      .def("__init__", &MakeEpisodes, "graph"_a, "machine"_a, "count"_a, "max_groups"_a, "start"_a, "reward"_a,
           "memory_penalty"_a, "memory_penalty_cap"_a)
      .def("seed", &VectorEnv::Seed, "index"_a, "seed"_a,
           "From now on, random starts of this episode are drawn from it.")
      .def("reset", &VectorEnv::Reset, "index"_a)
      .def("step", &VectorEnv::Step, "index"_a, "device"_a, "The reward of putting the current group on the device.")
      .def(
          "step_all",
          [](VectorEnv& episodes, const InputArray<int32_t, 1>& devices) {
            if (devices.shape(0) != episodes.count())
              throw BadInput(StrCat("there are ", devices.shape(0), " actions, expected ", episodes.count()));
            // With the interpreter's lock, which keeps other threads from the same episodes.
            return ToNumpy(episodes.StepAll(std::span(devices.data(), devices.shape(0))));
          },
          "devices"_a, "Rewards [k]. An episode that was done before is reset instead, for 0.")
      .def_prop_ro(
          "num_groups", [](const VectorEnv& episodes) { return episodes.task().groups.num_groups; }, "n")
      .def_prop_ro("num_features", &VectorEnv::features, "F")
      .def(
          "done", [](const VectorEnv& episodes, size_t index) { return episodes.env(index).done(); }, "index"_a)
      .def(
          "makespan_us", [](const VectorEnv& episodes, size_t index) { return episodes.env(index).makespan_us(); },
          "index"_a)
      .def(
          "feasible", [](const VectorEnv& episodes, size_t index) { return episodes.env(index).feasible(); }, "index"_a)
      .def(
          "observe",
          [](const VectorEnv& episodes, size_t index) {
            const auto n = static_cast<size_t>(episodes.task().groups.num_groups);
            std::vector<float> values(n * episodes.features());
            episodes.Observe(index, values.data());
            return ToNumpy(std::move(values), {n, episodes.features()});
          },
          "index"_a, "float32 [n, F]")
      .def(
          "observe_all",
          [](const VectorEnv& episodes) {
            const auto n = static_cast<size_t>(episodes.task().groups.num_groups);
            return Gather<float>(episodes, n * episodes.features(),
                                 [&](size_t i, float* out) { episodes.Observe(i, out); });
          },
          "float32 [k, n * F]")
      .def(
          "mask",
          [](const VectorEnv& episodes, size_t index) {
            std::vector<int8_t> values(static_cast<size_t>(episodes.task().groups.num_devices));
            episodes.Mask(index, values.data());
            return ToNumpy(std::move(values));
          },
          "index"_a, "int8 [D]")
      .def(
          "mask_all",
          [](const VectorEnv& episodes) {
            return Gather<int8_t>(episodes, static_cast<size_t>(episodes.task().groups.num_devices),
                                  [&](size_t i, int8_t* out) { episodes.Mask(i, out); });
          },
          "int8 [k, D]")
      .def("edges", &GroupEdges, "int32 [E, 2] parent and child groups")
      .def("op_placement", &OpPlacement, "index"_a, "int32 [num_ops] device of each op");
}

}  // namespace emplace::python
