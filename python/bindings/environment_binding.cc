// Placement episodes, several side by side, for emplace.gym.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "api/task_inputs.h"
#include "common/error.h"
#include "common/rng.h"
#include "common/strings.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "simulator/environment/placement_env.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace emplace::python {
namespace {

constexpr size_t kSharedFeatures = 4;  // Cost, output bytes, visited, current; then one a device.

// k episodes of one task: n groups, D devices, F = 4 + D features of each group.
class Episodes {
 public:
  Episodes(const OpGraph& graph, const Cluster& cluster, size_t count, int32_t max_groups, const std::string& start,
           const std::string& reward, double memory_penalty, double memory_penalty_cap)
      : task_(MakeTask(graph, cluster, max_groups)),
        config_(MakeConfig(start, reward, memory_penalty, memory_penalty_cap)) {
    if (count < 1) throw BadInput("num_envs is 0, expected at least 1");
    for (size_t i = 0; i < count; ++i) envs_.emplace_back(task_, config_);
    rngs_.assign(count, Rng(0));
    rho_.resize(count);
    const auto n = static_cast<size_t>(task_.groups.num_groups);
    cost_.resize(n);
    bytes_.resize(n);
    const double most_us = *std::max_element(task_.groups.cost_us.begin(), task_.groups.cost_us.end());
    const auto most_bytes = *std::max_element(task_.groups.output_bytes.begin(), task_.groups.output_bytes.end());
    for (size_t g = 0; g < n; ++g) {
      cost_[g] = most_us > 0 ? static_cast<float>(task_.groups.cost_us[g] / most_us) : 0;
      bytes_[g] =
          most_bytes > 0
              ? static_cast<float>(static_cast<double>(task_.groups.output_bytes[g]) / static_cast<double>(most_bytes))
              : 0;
    }
  }
  Episodes(const Episodes&) = delete;  // The environments point to the task.
  Episodes& operator=(const Episodes&) = delete;

  void Seed(size_t index, uint64_t seed) { rngs_.at(index) = Rng(seed); }
  void Reset(size_t index) { rho_.at(index) = envs_.at(index).Reset(rngs_[index]); }
  // Puts the current group on the device, or leaves it where it is if the device may not run it. Returns the reward.
  double Step(size_t index, int32_t device) {
    PlacementEnv& env = envs_.at(index);
    if (env.done()) throw BadInput("the episode has ended, expected reset() before another step()");
    CheckAction(device);
    const auto group = static_cast<size_t>(env.step());
    if (!task_.groups.Allowed(group, static_cast<size_t>(device))) device = env.placement()[group];
    const double before = rho_[index];
    rho_[index] = env.Step(device);
    return before - rho_[index];
  }
  // Resets those that were done before, whose action counts nothing, and steps the others.
  std::vector<double> StepAll(std::span<const int32_t> devices) {
    for (size_t i = 0; i < envs_.size(); ++i) {
      if (!envs_[i].done()) CheckAction(devices[i]);  // Before any of them is stepped.
    }
    std::vector<double> rewards(envs_.size());
    for (size_t i = 0; i < envs_.size(); ++i) {
      if (envs_[i].done()) {
        Reset(i);
      } else {
        rewards[i] = Step(i, devices[i]);
      }
    }
    return rewards;
  }

  size_t count() const { return envs_.size(); }
  size_t features() const { return kSharedFeatures + static_cast<size_t>(task_.groups.num_devices); }
  const PlacementTask& task() const { return task_; }
  const PlacementEnv& env(size_t index) const { return envs_.at(index); }

  // Writes [n, F].
  void Observe(size_t index, float* out) const {
    const PlacementEnv& env = envs_.at(index);
    const size_t devices = static_cast<size_t>(task_.groups.num_devices);
    for (size_t g = 0; g < cost_.size(); ++g) {
      float* const row = out + g * features();
      row[0] = cost_[g];
      row[1] = bytes_[g];
      row[2] = g < static_cast<size_t>(env.step()) ? 1 : 0;
      row[3] = g == static_cast<size_t>(env.step()) ? 1 : 0;
      std::fill_n(row + kSharedFeatures, devices, 0.0F);
      row[kSharedFeatures + env.placement()[g]] = 1;
    }
  }
  // Writes [D] 1 where the current group may go; all 1 at the end of an episode.
  void Mask(size_t index, int8_t* out) const {
    const PlacementEnv& env = envs_.at(index);
    for (size_t d = 0; d < static_cast<size_t>(task_.groups.num_devices); ++d) {
      out[d] = env.done() || task_.groups.Allowed(static_cast<size_t>(env.step()), d) ? 1 : 0;
    }
  }

 private:
  void CheckAction(int32_t device) const {
    if (device < 0 || device >= task_.groups.num_devices)
      throw BadInput(StrCat("the action is ", device, ", expected a device, 0 to ", task_.groups.num_devices - 1));
  }
  static PlacementTask MakeTask(const OpGraph& graph, const Cluster& cluster, int32_t max_groups) {
    CheckKinds(graph, cluster);
    return PlacementTask::MakeForEpisodes(graph, cluster, MaxGroups(max_groups, nullptr));
  }
  static EnvironmentConfig MakeConfig(const std::string& start, const std::string& reward, double memory_penalty,
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

  const PlacementTask task_;
  const EnvironmentConfig config_;
  std::deque<PlacementEnv> envs_;  // [k]
  std::vector<Rng> rngs_;          // [k]
  std::vector<double> rho_;        // [k]
  std::vector<float> cost_;        // [n] over the largest
  std::vector<float> bytes_;       // [n] over the largest
};

template <typename T, typename Write>
NumpyArray<T> Gather(const Episodes& episodes, size_t row, Write write) {
  std::vector<T> values(episodes.count() * row);
  for (size_t i = 0; i < episodes.count(); ++i) write(i, values.data() + i * row);
  return ToNumpy(std::move(values), {episodes.count(), row});
}

NumpyArray<int32_t> GroupEdges(const Episodes& episodes) {
  const GroupGraph& groups = episodes.task().groups;
  std::vector<int32_t> edges;
  for (GroupIndex group = 0; group < groups.num_groups; ++group) {
    for (const int32_t child : groups.children.Row(group)) edges.insert(edges.end(), {group, child});
  }
  const size_t rows = edges.size() / 2;
  return ToNumpy(std::move(edges), {rows, 2});
}

NumpyArray<int32_t> OpPlacement(const Episodes& episodes, size_t index) {
  std::vector<int32_t> ops(static_cast<size_t>(episodes.task().sim.num_ops));
  episodes.task().Expand(episodes.env(index).placement(), ops);
  return ToNumpy(std::move(ops));
}

}  // namespace

void BindEnvironment(nb::module_& module) {
  nb::class_<Episodes>(module, "Episodes", "k placement episodes of one graph on one machine, for emplace.gym.")
      .def(nb::init<const OpGraph&, const Cluster&, size_t, int32_t, const std::string&, const std::string&, double,
                    double>(),
           "graph"_a, "machine"_a, "count"_a, "max_groups"_a, "start"_a, "reward"_a, "memory_penalty"_a,
           "memory_penalty_cap"_a)
      .def("seed", &Episodes::Seed, "index"_a, "seed"_a,
           "From now on, random starts of this episode are drawn from it.")
      .def("reset", &Episodes::Reset, "index"_a)
      .def("step", &Episodes::Step, "index"_a, "device"_a, "The reward of putting the current group on the device.")
      .def(
          "step_all",
          [](Episodes& episodes, const InputArray<int32_t, 1>& devices) {
            if (devices.shape(0) != episodes.count())
              throw BadInput(StrCat("there are ", devices.shape(0), " actions, expected ", episodes.count()));
            // With the interpreter's lock, which keeps other threads from the same episodes.
            return ToNumpy(episodes.StepAll(std::span(devices.data(), devices.shape(0))));
          },
          "devices"_a, "Rewards [k]. An episode that was done before is reset instead, for 0.")
      .def_prop_ro(
          "num_groups", [](const Episodes& episodes) { return episodes.task().groups.num_groups; }, "n")
      .def_prop_ro("num_features", &Episodes::features, "F")
      .def(
          "done", [](const Episodes& episodes, size_t index) { return episodes.env(index).done(); }, "index"_a)
      .def(
          "makespan_us", [](const Episodes& episodes, size_t index) { return episodes.env(index).makespan_us(); },
          "index"_a)
      .def(
          "feasible", [](const Episodes& episodes, size_t index) { return episodes.env(index).feasible(); }, "index"_a)
      .def(
          "observe",
          [](const Episodes& episodes, size_t index) {
            const auto n = static_cast<size_t>(episodes.task().groups.num_groups);
            std::vector<float> values(n * episodes.features());
            episodes.Observe(index, values.data());
            return ToNumpy(std::move(values), {n, episodes.features()});
          },
          "index"_a, "float32 [n, F]")
      .def(
          "observe_all",
          [](const Episodes& episodes) {
            const auto n = static_cast<size_t>(episodes.task().groups.num_groups);
            return Gather<float>(episodes, n * episodes.features(),
                                 [&](size_t i, float* out) { episodes.Observe(i, out); });
          },
          "float32 [k, n * F]")
      .def(
          "mask",
          [](const Episodes& episodes, size_t index) {
            std::vector<int8_t> values(static_cast<size_t>(episodes.task().groups.num_devices));
            episodes.Mask(index, values.data());
            return ToNumpy(std::move(values));
          },
          "index"_a, "int8 [D]")
      .def(
          "mask_all",
          [](const Episodes& episodes) {
            return Gather<int8_t>(episodes, static_cast<size_t>(episodes.task().groups.num_devices),
                                  [&](size_t i, int8_t* out) { episodes.Mask(i, out); });
          },
          "int8 [k, D]")
      .def("edges", &GroupEdges, "int32 [E, 2] parent and child groups")
      .def("op_placement", &OpPlacement, "index"_a, "int32 [num_ops] device of each op");
}

}  // namespace emplace::python
