// Simulating one placement with its timeline, or many side by side.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "api/serving.h"
#include "api/task_inputs.h"
#include "common/error.h"
#include "common/strings.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/interruptible.h"
#include "simulator/engine/graph_paths.h"
#include "simulator/engine/simulator.h"
#include "simulator/engine/single_device.h"
#include "simulator/engine/trace_writer.h"
#include "simulator/graph/placement.h"
#include "simulator/methods/exact/lower_bound.h"
#include "simulator/methods/max_load.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace emplace::python {
namespace {

using Placements = InputArray<int32_t, 2>;    // [k, n]
using OnePlacement = InputArray<int32_t, 1>;  // [n]

void CheckLength(const OpGraph& graph, size_t length) {
  if (length == static_cast<size_t>(graph.num_ops())) return;
  throw BadInput(
      StrCat("the placement has ", length, " ops, expected ", graph.num_ops(), ", those of '", graph.name(), "'"));
}

// As CheckPlacement, many times as fast where all is well.
void CheckQuickly(const OpGraph& graph, const Cluster& cluster, const SimGraph& sim,
                  std::span<const DeviceIndex> placement) {
  const auto devices = static_cast<size_t>(sim.num_devices);
  for (size_t o = 0; o < placement.size(); ++o) {
    const DeviceIndex device = placement[o];
    if (device >= 0 && device < sim.num_devices && MayRunAt(sim.cost_us[o * devices + static_cast<size_t>(device)]))
      continue;
    CheckPlacement(graph, cluster, placement);  // Throws, and says what is wrong.
  }
}

struct Scores {
  std::vector<double> makespan_us;  // [k]
  std::vector<int64_t> peak_bytes;  // [k * D]
};

// `threads` simulators share out the placements, in pieces that are small enough to end together.
Scores SimulateAll(const OpGraph& graph, const Cluster& cluster, const Placements& placements,
                   const DeviceOrders& orders, size_t threads, const std::atomic<bool>& stop) {
  constexpr size_t kPiece = 8;
  const SimGraph sim = SimGraph::Compile(graph, cluster);
  const size_t count = placements.shape(0);
  const auto ops = static_cast<size_t>(sim.num_ops);
  const auto devices = static_cast<size_t>(sim.num_devices);
  Scores scores{std::vector<double>(count), std::vector<int64_t>(count * devices)};
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;  // Guarded by `mutex`.
  const auto simulate_pieces = [&] {
    try {
      Simulator simulator(sim, orders);
      for (size_t begin = next.fetch_add(kPiece); begin < count && !stop; begin = next.fetch_add(kPiece)) {
        for (size_t i = begin; i < std::min(count, begin + kPiece); ++i) {
          const std::span placement(placements.data() + i * ops, ops);
          CheckQuickly(graph, cluster, sim, placement);
          if (!orders.empty()) CheckOrders(graph, cluster, placement, orders);
          scores.makespan_us[i] =
              simulator.MakespanAndPeak(placement, std::span(scores.peak_bytes).subspan(i * devices, devices));
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> helpers;
  for (size_t t = 1; t < std::min(threads, count / kPiece); ++t) helpers.emplace_back(simulate_pieces);
  simulate_pieces();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
  return scores;
}

nb::object Simulate(const OpGraph& graph, const Cluster& cluster, const Placements& placements,
                    const DeviceOrders& orders, int threads) {
  CheckLength(graph, placements.shape(1));
  const auto most = static_cast<size_t>(Threads(threads));
  Scores scores;
  RunInterruptibly(
      [&](const std::atomic<bool>& stop) { scores = SimulateAll(graph, cluster, placements, orders, most, stop); });
  const size_t count = placements.shape(0);
  return nb::make_tuple(ToNumpy(std::move(scores.makespan_us)),
                        ToNumpy(std::move(scores.peak_bytes), {count, static_cast<size_t>(cluster.num_devices())}));
}

// The timeline of one placement, as a dict of arrays.
nb::dict Run(const OpGraph& graph, const Cluster& cluster, const OnePlacement& placement, const DeviceOrders& orders) {
  const std::span ops(placement.data(), placement.shape(0));
  CheckPlacement(graph, cluster, ops);
  if (!orders.empty()) CheckOrders(graph, cluster, ops, orders);
  const SimGraph sim = SimGraph::Compile(graph, cluster);
  Simulator simulator(sim, orders);
  const Timeline& timeline = simulator.Run(ops);
  const std::vector<OpIndex> producers = TensorProducers(sim);
  nb::list transfers;
  for (const Transfer& transfer : timeline.transfers) {
    const auto tensor = static_cast<size_t>(transfer.tensor);
    transfers.append(nb::make_tuple(producers[tensor], transfer.from, transfer.to, transfer.start_us, transfer.sent_us,
                                    transfer.delivered_us, sim.tensor_bytes[tensor]));
  }
  nb::dict result;
  result["makespan_us"] = timeline.makespan_us;
  result["start_us"] = ToNumpy(timeline.start_us);
  result["finish_us"] = ToNumpy(timeline.finish_us);
  result["peak_bytes"] = ToNumpy(timeline.peak_bytes);
  result["transfers"] = transfers;
  return result;
}

// What is to be known of a given placement: the fields of emplace.Plan that the simulator fills in.
nb::dict Assess(const OpGraph& graph, const Cluster& cluster, const OnePlacement& placement,
                const DeviceOrders& orders) {
  const std::span ops(placement.data(), placement.shape(0));
  CheckPlacement(graph, cluster, ops);
  if (!orders.empty()) CheckOrders(graph, cluster, ops, orders);
  std::vector<int64_t> peak_bytes(static_cast<size_t>(cluster.num_devices()));
  double makespan_us = 0;
  double single_device_us = 0;
  double lower_bound_us = 0;
  bool feasible = false;
  RunInterruptibly([&](const std::atomic<bool>& stop) {
    const SimGraph sim = SimGraph::Compile(graph, cluster);
    makespan_us = Simulator(sim, orders).MakespanAndPeak(ops, peak_bytes);
    single_device_us = FindSingleDevice(sim).makespan_us;
    lower_bound_us = LowerBoundUs(sim, &stop);
    feasible = sim.Fits(peak_bytes);
  });
  nb::dict result;
  result["makespan_us"] = makespan_us;
  result["single_device_us"] = single_device_us;
  result["lower_bound_us"] = lower_bound_us;
  result["feasible"] = feasible;
  result["peak_bytes"] = ToNumpy(std::move(peak_bytes));
  return result;
}

double LoadOfBusiest(const OpGraph& graph, const Cluster& cluster, const OnePlacement& placement) {
  const std::span ops(placement.data(), placement.shape(0));
  CheckPlacement(graph, cluster, ops);
  return MaxLoadUs(SimGraph::Compile(graph, cluster), ops);
}

NumpyArray<double> LoadsOfBusiest(const OpGraph& graph, const Cluster& cluster, const Placements& placements) {
  const SimGraph sim = SimGraph::Compile(graph, cluster);
  std::vector<double> loads;
  for (size_t k = 0; k < placements.shape(0); ++k) {
    const std::span ops(placements.data() + k * placements.shape(1), placements.shape(1));
    CheckPlacement(graph, cluster, ops);
    loads.push_back(MaxLoadUs(sim, ops));
  }
  return ToNumpy(std::move(loads));
}

// None for a graph of no language model.
nb::object ServingOf(const OpGraph& graph, const Cluster& cluster, const OnePlacement& placement,
                     const InputArray<int64_t, 1>& peak_bytes, double makespan_us, double max_load_us,
                     const DeviceOrders& orders) {
  const std::optional<ServedStep> step = ServedStepOf(graph);
  if (!step) return nb::none();
  const std::span ops(placement.data(), placement.shape(0));
  CheckPlacement(graph, cluster, ops);
  const ServingFigures figures =
      Serving(graph, cluster, *step, Placement(ops.begin(), ops.end()),
              {peak_bytes.data(), peak_bytes.data() + peak_bytes.shape(0)}, makespan_us, max_load_us, orders);
  nb::dict result;
  result["stream_tokens_per_s"] = figures.stream_tokens_per_s;
  result["pipeline_tokens_per_s"] = figures.pipeline_tokens_per_s;
  result["first_token_s"] = figures.first_token_s;
  result["longest_context"] = figures.longest_context;
  result["limited_by"] = figures.limited_by;
  result["text"] = ShownServing(figures, "");
  return result;
}

std::string Trace(const OpGraph& graph, const Cluster& cluster, const OnePlacement& placement,
                  const DeviceOrders& orders) {
  const std::span ops(placement.data(), placement.shape(0));
  CheckPlacement(graph, cluster, ops);
  const SimGraph sim = SimGraph::Compile(graph, cluster);
  Simulator simulator(sim, orders);
  return TraceToJson(graph, cluster, sim, ops, simulator.Run(ops));
}

std::string ToJson(const OpGraph& graph, const Cluster& cluster, const OnePlacement& placement,
                   const DeviceOrders& orders) {
  return PlacementToJson(graph, cluster, std::span(placement.data(), placement.shape(0)), "", orders);
}

nb::object Parse(const std::string& json, const std::string& source, const OpGraph& graph, const Cluster& cluster) {
  OrderedPlacement read = ParseOrderedPlacement(json, source, graph, cluster);
  return nb::make_tuple(ToNumpy(std::move(read.placement)), std::move(read.orders));
}

}  // namespace

void BindSimulation(nb::module_& module) {
  module.def("simulate", &Simulate, "graph"_a, "machine"_a, "placements"_a, "orders"_a, "threads"_a,
             "Makespans [k] and peak bytes [k, D] of placements [k, n].");
  module.def("run", &Run, "graph"_a, "machine"_a, "placement"_a, "orders"_a,
             "The timeline of a placement [n]; transfers are (producer, from, to or -1, start, delivered, bytes).");
  module.def("assess", &Assess, "graph"_a, "machine"_a, "placement"_a, "orders"_a,
             "What a plan says of a given placement [n]: its makespan and peaks [D], whether these fit the memory, the "
             "makespan on the best single device, and a lower bound of all makespans.");
  module.def("max_load_us", &LoadOfBusiest, "graph"_a, "machine"_a, "placement"_a,
             "Time from step to step in a pipeline of many steps of a placement [n]: that of the busiest device.");
  module.def("max_loads_us", &LoadsOfBusiest, "graph"_a, "machine"_a, "placements"_a,
             "The same for each of k placements [k, n].");
  module.def(
      "load_bound_us",
      [](const OpGraph& graph, const Cluster& cluster) {
        double bound_us = 0;
        RunInterruptibly(
            [&](const std::atomic<bool>& stop) { bound_us = LoadBoundUs(SimGraph::Compile(graph, cluster), &stop); });
        return bound_us;
      },
      "graph"_a, "machine"_a, "No placement that fits the memory has a busiest device with less to do, in us.");
  module.def("serving", &ServingOf, "graph"_a, "machine"_a, "placement"_a, "peak_bytes"_a, "makespan_us"_a,
             "max_load_us"_a, "orders"_a,
             "What a placement of a language model is worth in tokens/s, and as text; None for other graphs.");
  module.def("trace", &Trace, "graph"_a, "machine"_a, "placement"_a, "orders"_a,
             "The timeline as Chrome trace events, JSON.");
  module.def("placement_to_json", &ToJson, "graph"_a, "machine"_a, "placement"_a, "orders"_a);
  module.def("parse_placement", &Parse, "text"_a, "source"_a, "graph"_a, "machine"_a,
             "Placement [n] and orders of a placement file.");
}

}  // namespace emplace::python
