// Dividing a row of blocks into stages.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <optional>
#include <utility>

#include "api/place_graph.h"
#include "common/error.h"
#include "common/strings.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/interruptible.h"
#include "simulator/methods/exact/lower_bound.h"
#include "simulator/methods/lists/disciplines.h"
#include "simulator/methods/stages/stages_method.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace emplace::python {
namespace {

using BlockOfOp = InputArray<int32_t, 1>;  // [n]

struct DividedGraph {
  PlacementTask task;
  MethodResult result;
  MethodScore score;
  Division division;
  double lower_bound_us = 0;
  double seconds = 0;  // Wall time of the method and what it needs.
};

DividedGraph DivideGraph(const OpGraph& graph, const Cluster& cluster, const StagesRequest& request,
                         const MethodOptions& options) {
  CheckKinds(graph, cluster);
  DividedGraph divided;
  const auto begin = std::chrono::steady_clock::now();
  divided.task = PlacementTask::Make(graph, cluster, PlaceRequest().max_groups, options.stop, /*places_groups=*/false);
  StagesMethod method(request, options);
  divided.result = method.Place(divided.task);
  divided.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!divided.result.placement)
    throw BadInput(
        StrCat("graph '", graph.name(), "': the devices may not run all blocks in any division into stages"));
  divided.score = Score(divided.task, divided.result);
  divided.division = method.division();
  divided.lower_bound_us = LowerBoundUs(divided.task.sim, options.stop);
  return divided;
}

nb::dict ToDict(DividedGraph divided) {
  nb::list devices;
  nb::list begins;
  for (const Stage& stage : divided.division) {
    devices.append(stage.device);
    begins.append(stage.begin);
  }
  nb::dict result;
  result["stage_devices"] = devices;
  result["stage_begins"] = begins;
  result["placement"] = ToNumpy(std::move(*divided.result.placement));
  result["orders"] = std::move(divided.result.orders);
  result["makespan_us"] = divided.score.makespan_us;
  result["peak_bytes"] = ToNumpy(std::move(divided.score.peak_bytes));
  result["feasible"] = divided.score.feasible;
  result["single_device_us"] = divided.task.single_device_us;
  result["lower_bound_us"] = divided.lower_bound_us;
  result["found_by"] = "stages";
  result["evaluations"] = divided.result.evaluations;
  result["seconds"] = divided.seconds;
  return result;
}

nb::dict Divide(const OpGraph& graph, const Cluster& cluster, const BlockOfOp& block_of_op, int32_t num_blocks,
                int32_t stages, const std::string& objective, bool any_order, const std::string& order,
                double seconds) {
  MethodOptions options;
  options.objective = ObjectiveNamed(objective);
  options.seconds = seconds;
  StagesRequest request;
  request.block_of_op.assign(block_of_op.data(), block_of_op.data() + block_of_op.shape(0));
  request.num_blocks = num_blocks;
  request.stages = stages;
  request.any_order = any_order;
  AskForOrder(order, options);
  request.order = options.order;
  request.may_order = options.orders && options.order.empty();
  std::optional<DividedGraph> divided;
  RunInterruptibly([&](const std::atomic<bool>& stop) {
    options.stop = &stop;
    divided = DivideGraph(graph, cluster, request, options);
  });
  return ToDict(std::move(*divided));
}

}  // namespace

void BindStages(nb::module_& module) {
  module.def(
      "divide", &Divide, "graph"_a, "machine"_a, "block_of_op"_a, "num_blocks"_a, nb::kw_only(), "stages"_a = 0,
      "objective"_a = "latency", "any_order"_a = false, "order"_a = "", "seconds"_a = 0.0,
      "Divides blocks, of which block_of_op [n] holds numbers from 0, into stages on devices (0: any number of\n"
      "them). As `place`, with stage_devices and stage_begins [S]. Where no division fits, the result is the one\n"
      "with the fewest bytes over the memory.");
}

}  // namespace emplace::python
