#include "simulator/methods/lists/disciplines.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/methods/lists/dispatch.h"
#include "simulator/methods/lists/least_memory.h"
#include "simulator/methods/lists/priority.h"
#include "simulator/methods/lists/upward_rank.h"

namespace emplace {
namespace {

constexpr char kBest[] = "best";
constexpr char kLeastMemory[] = "least-memory";

// A discipline orders ops and is scored in the time of about so many runs of a single device.
constexpr double kRunsForDiscipline = 5;

DeviceOrders ByArrival(const ScheduleGraph& graph, std::span<const DeviceIndex> placement) {
  Simulator simulator(graph.task().sim);
  simulator.Makespan(placement);
  return simulator.StartOrders();
}

DeviceOrders ByRank(const ScheduleGraph& graph, std::span<const DeviceIndex> placement) {
  return OrdersUnder(PriorityByRank(graph, placement), graph.task().sim, placement);
}

// The micro-batch of each op; of an op that is in none, the last one that it waits for, or -1.
std::vector<int32_t> Waves(const ScheduleGraph& graph) {
  std::vector<int32_t> wave = graph.task().microbatch_of_op;
  for (const OpIndex op : graph.topological_order()) {
    const auto o = static_cast<size_t>(op);
    if (wave[o] >= 0) continue;
    for (const int32_t tensor : graph.InputsOf(op)) {
      wave[o] = std::max(wave[o], wave[static_cast<size_t>(graph.ProducerOf(tensor))]);
    }
  }
  return wave;
}

// [D] the number of devices that a micro-batch reaches no earlier than this one. A micro-batch reaches a device when
// the longest way from the graph's begin to one of its ops on the device is over.
std::vector<int32_t> DevicesFromHereOn(const ScheduleGraph& graph, std::span<const DeviceIndex> placement,
                                       const std::vector<double>& rank_us) {
  const auto devices = static_cast<size_t>(graph.num_devices());
  // The way to the end is longest where the way from the begin is shortest.
  std::vector<double> longest_us(devices, -1);
  for (size_t o = 0; o < placement.size(); ++o) {
    if (graph.task().microbatch_of_op[o] < 0) continue;
    double& longest = longest_us[static_cast<size_t>(placement[o])];
    longest = std::max(longest, rank_us[o]);
  }
  std::vector<size_t> order(devices);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return longest_us[a] < longest_us[b]; });
  std::vector<int32_t> count(devices, 1);
  int32_t reached = 0;
  for (const size_t device : order) {
    if (longest_us[device] >= 0) count[device] = ++reached;
  }
  return count;
}

DeviceOrders DepthFirst(const ScheduleGraph& graph, std::span<const DeviceIndex> placement) {
  const std::vector<int32_t> wave = Waves(graph);
  Priority priority = PriorityByRank(graph, placement);
  std::ranges::stable_sort(priority, {}, [&](OpIndex op) { return wave[static_cast<size_t>(op)]; });
  return OrdersUnder(priority, graph.task().sim, placement);
}

DeviceOrders OneForwardOneBackward(const ScheduleGraph& graph, std::span<const DeviceIndex> placement) {
  DispatchRule rule{.wave = Waves(graph), .rank_us = PlacedUpwardRanksUs(graph, placement), .most_begun = {}};
  rule.most_begun = DevicesFromHereOn(graph, placement, rule.rank_us);
  Dispatcher dispatcher(graph);
  dispatcher.Run(placement, rule);
  return dispatcher.orders();
}

struct Discipline {
  std::string name;
  std::function<DeviceOrders(const ScheduleGraph&, std::span<const DeviceIndex>)> order;
};

// Those for speed, then the last resort of BestOrder.
std::vector<Discipline> Disciplines() {
  return {{"arrival", ByArrival},
          {"rank", ByRank},
          {"depth-first", DepthFirst},
          {"1f1b", OneForwardOneBackward},
          {kLeastMemory, OrdersOfLeastMemory}};
}

ChosenOrder Choose(const Discipline& discipline, const ScheduleGraph& graph, std::span<const DeviceIndex> placement) {
  ChosenOrder chosen{discipline.name, discipline.order(graph, placement), {}};
  chosen.score = PlacementScorer(graph.task(), chosen.orders).Score(placement);
  return chosen;
}

}  // namespace

std::vector<std::string> DisciplineNames() {
  std::vector<std::string> names;
  for (const Discipline& discipline : Disciplines()) names.push_back(discipline.name);
  return names;
}

ChosenOrder OrderBy(const std::string& discipline, const ScheduleGraph& graph, std::span<const DeviceIndex> placement) {
  for (const Discipline& known : Disciplines()) {
    if (known.name == discipline) return Choose(known, graph, placement);
  }
  throw BadInput(StrCat("unknown order '", discipline, "', expected one of: ", Join(OrderNames(), ", ")));
}

ChosenOrder BestOrder(const ScheduleGraph& graph, std::span<const DeviceIndex> placement, ChosenOrder best) {
  for (const Discipline& discipline : Disciplines()) {
    if (!best.orders.empty() && graph.stop().Now()) break;
    if (discipline.name == kLeastMemory && best.score.bytes_over == 0) continue;  // It is slower.
    ChosenOrder order = Choose(discipline, graph, placement);
    if (best.orders.empty() || order.score < best.score) best = std::move(order);
  }
  return best;
}

std::vector<std::string> OrderNames() {
  std::vector<std::string> names = DisciplineNames();
  names.emplace_back(kBest);
  return names;
}

ChosenOrder OrderNamed(const std::string& name, const ScheduleGraph& graph, std::span<const DeviceIndex> placement) {
  return name == kBest ? BestOrder(graph, placement) : OrderBy(name, graph, placement);
}

int64_t RunsToFindOrder(const std::string& name) { return name == kBest ? std::ssize(Disciplines()) - 1 : 1; }

double SecondsToOrder(const std::string& name, const PlacementTask& task) {
  if (task.single_device < 0) return 0;
  const auto begin = StopSignal::Clock::now();
  PlacementScorer(task).Score(Placement(static_cast<size_t>(task.sim.num_ops), task.single_device));
  return kRunsForDiscipline * static_cast<double>(RunsToFindOrder(name)) *
         std::chrono::duration<double>(StopSignal::Clock::now() - begin).count();
}

void SetOrder(const std::string& name, const PlacementTask& task, MethodResult& result, const StopSignal& stop) {
  if (!result.placement || (!result.orders.empty() && result.discipline == name)) return;
  const ScheduleGraph graph(task, stop);
  ChosenOrder chosen;
  if (name == kBest && !result.orders.empty()) {
    chosen = {result.discipline, result.orders, PlacementScorer(task, result.orders).Score(*result.placement)};
    chosen = BestOrder(graph, *result.placement, std::move(chosen));
  } else {
    chosen = OrderNamed(name, graph, *result.placement);
  }
  result.orders = std::move(chosen.orders);
  result.discipline = std::move(chosen.discipline);
}

}  // namespace emplace
