// What emplace.place and emplace.evaluate are made of.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "api/place_graph.h"
#include "api/placing_wishes.h"
#include "api/task_inputs.h"
#include "common/error.h"
#include "common/strings.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/interruptible.h"
#include "python/bindings/loaded_policy.h"
#include "simulator/methods/lists/disciplines.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace emplace::python {
namespace {

// The newest progress of a search, from the thread that searches to the one that shows it.
class LatestProgress {
 public:
  void Set(const SearchProgress& progress) {
    const std::lock_guard lock(mutex_);
    progress_ = progress;
  }
  std::optional<SearchProgress> Get() const {
    const std::lock_guard lock(mutex_);
    return progress_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<SearchProgress> progress_;  // Guarded by mutex_; nullopt: none yet.
};

nb::dict PlacedToDict(PlacedGraph placed) {
  nb::dict result;
  result["placement"] = ToNumpy(std::move(placed.chosen.placement));
  result["orders"] = std::move(placed.chosen.orders);
  result["makespan_us"] = placed.chosen.score.makespan_us;
  result["max_load_us"] = placed.chosen.score.max_load_us;
  result["peak_bytes"] = ToNumpy(std::move(placed.chosen.score.peak_bytes));
  result["feasible"] = placed.chosen.score.feasible;
  result["single_device_us"] = placed.task.single_device_us;
  result["lower_bound_us"] = placed.lower_bound_us;
  result["found_by"] = placed.found_by;
  result["evaluations"] = placed.result.evaluations;
  result["seconds"] = placed.seconds;
  result["method_makespan_us"] = placed.found.makespan_us;
  result["method_max_load_us"] = placed.found.max_load_us;
  result["method_feasible"] = placed.found.feasible;
  return result;
}

nb::dict Place(const OpGraph& graph, const Cluster& cluster, const std::string& method_name, double seconds,
               int64_t budget, const std::string& order, const std::string& objective, const LoadedPolicy* policy,
               const std::map<std::string, std::string>& method_options, int threads, std::optional<int64_t> max_groups,
               uint64_t seed, const nb::object& progress, const nb::object& tick) {
  MethodOptions options = OptionsOf({.seconds = seconds,
                                     .budget = budget,
                                     .threads = threads,
                                     .seed = seed,
                                     .objective = objective,
                                     .order = order,
                                     .method_options = method_options},
                                    {method_name});
  if (policy) UsePolicyOn(cluster, "the machine", policy->weights, policy->source, options);
  LatestProgress latest;
  options.progress = [&](const SearchProgress& now) { latest.Set(now); };
  const PlaceRequest request = {.graph_source = graph.name(),
                                .devices_source = "the machine",
                                .method = method_name,
                                .max_groups = MaxGroups(max_groups, policy ? &policy->weights : nullptr)};
  std::optional<PlacedGraph> placed;
  const auto work = [&](const std::atomic<bool>& stop) {
    options.stop = &stop;
    placed = PlaceGraph(graph, cluster, request, options);
  };
  RunInterruptibly(work, [&] {
    if (!tick.is_none()) tick();
    if (progress.is_none()) return;
    if (const auto now = latest.Get()) progress(now->seconds, now->evaluations, now->best_us, now->found_by);
  });
  return PlacedToDict(std::move(*placed));
}

std::map<std::string, OwnOption> MethodOptionsByName() {
  std::map<std::string, OwnOption> options;
  for (OwnOption& option : OwnOptions()) options.emplace(option.field.name, std::move(option));
  return options;
}

void CheckMethodOptions(const std::map<std::string, std::string>& texts, const std::vector<std::string>& methods) {
  MethodOptions unused;
  SetOwnOptions(texts, methods, unused);
}

}  // namespace

void BindPlacing(nb::module_& module) {
  module.def("methods", &MethodNames, "Names of the ways to place a graph; `auto` is the best for a given time.");
  module.def("orders", &OrderNames, "Names of the disciplines by which devices may order their ops.");
  nb::class_<OwnOption>(module, "MethodOption", "An option that some methods alone have.")
      .def_ro("methods", &OwnOption::methods, "Names of the methods that have it.")
      .def_prop_ro("help", [](const OwnOption& option) { return option.field.help; })
      .def_prop_ro("expected", [](const OwnOption& option) { return option.field.Expected(option.value); })
      .def_prop_ro("default", [](const OwnOption& option) { return TextOf(option.value); })
      .def("__repr__", [](const OwnOption& option) {
        return StrCat("<MethodOption of ", Join(option.methods, ", "), ": ", option.field.help, "; expected ",
                      option.field.Expected(option.value), ", default ", TextOf(option.value), ">");
      });
  module.def("method_options", &MethodOptionsByName, "By name, the options that some methods alone have.");
  module.def("check_method_options", &CheckMethodOptions, "texts"_a, "methods"_a,
             "Raises BadInput for an option that none of these methods has, and for a value that is not allowed.");
  module.def(
      "can_minimize",
      [](const std::string& method, const std::string& objective) {
        return CanMinimize(method, ObjectiveNamed(objective));
      },
      "method"_a, "objective"_a, "Whether the method can minimize the objective.");
  module.def("place", &Place, "graph"_a, "machine"_a, nb::kw_only(), "method"_a, "seconds"_a = 0.0, "budget"_a = 0,
             "order"_a = "", "objective"_a = "latency", "policy"_a.none() = nb::none(),
             "method_options"_a = std::map<std::string, std::string>(), "threads"_a = 0,
             "max_groups"_a.none() = nb::none(), "seed"_a = 1, "progress"_a.none() = nb::none(),
             "tick"_a.none() = nb::none(), "tick: called a few times a second; what it raises ends the call.");
}

}  // namespace emplace::python
