// emplace._core.Policy, which emplace.Policy wraps.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <vector>

#include "api/task_inputs.h"
#include "common/error.h"
#include "common/files/file_io.h"
#include "common/strings.h"
#include "policy/players.h"
#include "policy/policy_kinds.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/loaded_policy.h"
#include "simulator/task/placement_task.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace emplace::python {
namespace {

using Devices = InputArray<int32_t, 1>;  // [n]

// [n] the devices of the groups, checked. `what` names them in errors.
std::vector<uint8_t> DevicesOfGroups(const GroupGraph& groups, const Devices& devices, const char* what) {
  const auto n = static_cast<size_t>(groups.num_groups);
  if (devices.shape(0) != n)
    throw BadInput(StrCat(what, " has ", devices.shape(0), " entries, expected ", n, " groups"));
  std::vector<uint8_t> checked(n);
  for (size_t g = 0; g < n; ++g) {
    const int32_t device = devices.data()[g];
    if (device < 0 || device >= groups.num_devices || !groups.Allowed(g, static_cast<size_t>(device)))
      throw BadInput(StrCat(what, " puts group ", g, " on device ", device, ", expected one that may run the group"));
    checked[g] = static_cast<uint8_t>(device);
  }
  return checked;
}

NumpyArray<float> Logits(const LoadedPolicy& policy, const OpGraph& graph, const Cluster& cluster, const Devices& start,
                         const Devices& choices, std::optional<int64_t> max_groups) {
  CheckPolicyFits(policy.weights, policy.source, cluster, "the machine");
  const auto task = PlacementTask::MakeForEpisodes(graph, cluster, MaxGroups(max_groups, &policy.weights));
  const std::vector<uint8_t> begin = DevicesOfGroups(task.groups, start, "start");
  const std::vector<uint8_t> chosen = DevicesOfGroups(task.groups, choices, "choices");
  const auto player = MakePlayer(policy.weights);
  const auto view = player->View(task);
  const auto episode = player->Begin(*view, begin);
  PlayedEpisode* const episodes[] = {episode.get()};
  Decisions decisions;
  std::vector<float> logits;
  size_t rows = 0;
  while (!episode->done()) {
    player->Next(episodes, decisions);
    const auto count = static_cast<size_t>(decisions.blocks[0].count);
    if (decisions.blocks[0].num_choices != task.groups.num_devices || rows + count > chosen.size())
      throw BadInput(StrCat(policy.source, ": a policy of kind ", policy.weights.shape.kind,
                            " does not decide on the device of one group after the other"));
    logits.insert(logits.end(), decisions.logits.begin(), decisions.logits.end());
    player->Apply(episodes, std::span(chosen).subspan(rows, count));
    rows += count;
  }
  return ToNumpy(std::move(logits), {rows, static_cast<size_t>(task.groups.num_devices)});
}

}  // namespace

void BindPolicy(nb::module_& module) {
  nb::class_<LoadedPolicy>(module, "Policy", "A trained policy. Immutable; any thread may read it.")
      .def(
          "__init__",
          [](LoadedPolicy* policy, const std::filesystem::path& path) {
            if (path.empty()) throw BadInput("the path of the policy is empty, expected a file or a run directory");
            new (policy) LoadedPolicy{path.string(), LoadPolicyOf(path.string())};
          },
          "path"_a, "Reads a policy.safetensors, or the best policy so far of a run directory.")
      .def_prop_ro(
          "kind", [](const LoadedPolicy& policy) { return policy.weights.shape.kind; },
          "Its architecture, as `policy.kind` of a configuration.")
      .def_prop_ro(
          "num_devices", [](const LoadedPolicy& policy) { return policy.weights.shape.num_devices; },
          "Number of devices of the machines on which it places; 0: any number.")
      .def_prop_ro(
          "version", [](const LoadedPolicy& policy) { return policy.weights.version; },
          "Number of updates of its training.")
      .def_prop_ro(
          "metadata", [](const LoadedPolicy& policy) { return policy.weights.metadata; }, "How it was trained.")
      .def(
          "save_onnx",
          [](const LoadedPolicy& policy, const std::filesystem::path& path) {
            WriteFileAtomically(path, PolicyToOnnx(policy.weights));
          },
          "path"_a,
          "Writes the network as an ONNX model, whose inputs say what they hold. Raises BadInput for a kind of policy\n"
          "that has none.")
      .def("__getstate__",
           [](const LoadedPolicy& policy) {
             const std::string bytes = SerializePolicy(policy.weights);
             return std::pair(policy.source, nb::bytes(bytes.data(), bytes.size()));
           })
      .def("__setstate__",
           [](LoadedPolicy& policy, const std::pair<std::string, nb::bytes>& state) {
             const std::string_view bytes(state.second.c_str(), state.second.size());
             new (&policy) LoadedPolicy{state.first, ParsePolicy(bytes, state.first)};
           })
      .def("logits", &Logits, "graph"_a, "machine"_a, "start"_a, "choices"_a, "max_groups"_a.none() = nb::none(),
           "float32 [n, D] logits of the n decisions of an episode that begins with the groups at start (int32 [n])\n"
           "and puts them at choices (int32 [n]) one after the other; -infinity where a device may not run the group.\n"
           "max_groups: as of place.");
  module.def(
      "shipped_policy",
      []() -> std::optional<LoadedPolicy> {
        std::optional<PolicyWeights> weights = PolicyAsked("");
        if (!weights) return std::nullopt;
        return LoadedPolicy{"the shipped planner", *std::move(weights)};
      },
      "The trained planner that comes with the package; None where it is not there.");
}

}  // namespace emplace::python
