#include "simulator/methods/groups/scotch_method.h"

#include <scotch.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/threads/abandonable.h"
#include "common/threads/mutex.h"
#include "simulator/methods/lists/list_schedule.h"

namespace emplace {
namespace {

// libscotch counts in 32 bits, and adds loads up: each kind of load is scaled to this sum.
constexpr double kLoadSum = 1e9;
constexpr double kMostDistance = 1000;  // Between devices; the nearest pair has 1.

Mutex& LibraryLock() {
  static Mutex lock;
  return lock;
}

void Check(int result, const char* what) {
  if (result != 0) throw RunFailed(std::string("libscotch: ") + what + " failed");
}

// One of libscotch's objects, from its initialization on.
template <typename Object, auto kInit, auto kExit>
class Owned {
 public:
  Owned() { Check(kInit(&object_), "an initialization"); }
  ~Owned() { kExit(&object_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  Object* get() { return &object_; }
  const Object* get() const { return &object_; }

 private:
  Object object_;
};
using OwnedGraph = Owned<SCOTCH_Graph, SCOTCH_graphInit, SCOTCH_graphExit>;
using OwnedStrategy = Owned<SCOTCH_Strat, SCOTCH_stratInit, SCOTCH_stratExit>;
using OwnedContext = Owned<SCOTCH_Context, SCOTCH_contextInit, SCOTCH_contextExit>;
using OwnedArch = Owned<SCOTCH_Arch, SCOTCH_archInit, SCOTCH_archExit>;

SCOTCH_Num Scaled(double value, double sum) {
  return static_cast<SCOTCH_Num>(1 + std::llround(sum > 0 ? value / sum * kLoadSum : 0));
}

// The units of a task as an undirected weighted graph in libscotch's arrays.
class ScotchGraph {
 public:
  explicit ScotchGraph(const ScheduleGraph& graph) {
    const auto units = static_cast<size_t>(graph.num_units());
    std::vector<double> cost_us(units);
    std::vector<UnitPair> pairs;
    for (OpIndex op = 0; op < graph.num_ops(); ++op) {
      cost_us[static_cast<size_t>(graph.UnitOf(op))] += graph.MeanCostUs(op);
      for (const int32_t tensor : graph.InputsOf(op)) {
        const int32_t a = graph.UnitOf(graph.ProducerOf(tensor));
        const int32_t b = graph.UnitOf(op);
        if (a == b) continue;
        pairs.push_back({std::min(a, b), std::max(a, b),
                         static_cast<double>(graph.task().sim.tensor_bytes[static_cast<size_t>(tensor)])});
      }
    }
    const double total_us = std::accumulate(cost_us.begin(), cost_us.end(), 0.0);
    Sum(pairs);
    double total_bytes = 0;
    for (const UnitPair& pair : pairs) total_bytes += pair.bytes;
    for (const double us : cost_us) vertex_load_.push_back(Scaled(us, total_us));

    std::vector<std::vector<std::pair<SCOTCH_Num, SCOTCH_Num>>> rows(units);
    for (const auto& [low, high, bytes] : pairs) {
      const SCOTCH_Num load = Scaled(bytes, total_bytes);
      rows[static_cast<size_t>(low)].emplace_back(high, load);
      rows[static_cast<size_t>(high)].emplace_back(low, load);
    }
    begin_.push_back(0);
    for (const auto& row : rows) {
      for (const auto& [neighbour, load] : row) {
        neighbour_.push_back(neighbour);
        edge_load_.push_back(load);
      }
      begin_.push_back(static_cast<SCOTCH_Num>(neighbour_.size()));
    }
    Check(
        SCOTCH_graphBuild(graph_.get(), 0, static_cast<SCOTCH_Num>(units), begin_.data(), nullptr, vertex_load_.data(),
                          nullptr, static_cast<SCOTCH_Num>(neighbour_.size()), neighbour_.data(), edge_load_.data()),
        "graphBuild");
  }

  SCOTCH_Graph* get() { return graph_.get(); }

 private:
  // What two units exchange.
  struct UnitPair {
    int32_t low;
    int32_t high;
    double bytes;
  };

  // Leaves each pair once, by its units.
  static void Sum(std::vector<UnitPair>& pairs) {
    std::ranges::stable_sort(pairs, {}, [](const UnitPair& pair) { return std::pair(pair.low, pair.high); });
    size_t kept = 0;
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (i > 0 && pairs[i].low == pairs[kept - 1].low && pairs[i].high == pairs[kept - 1].high) {
        pairs[kept - 1].bytes += pairs[i].bytes;
      } else {
        pairs[kept++] = pairs[i];
      }
    }
    pairs.resize(kept);
  }

  std::vector<SCOTCH_Num> begin_;
  std::vector<SCOTCH_Num> neighbour_;
  std::vector<SCOTCH_Num> edge_load_;
  std::vector<SCOTCH_Num> vertex_load_;
  OwnedGraph graph_;  // Of the arrays above.
};

// A graph bound to what libscotch works with: one thread, and random numbers from a seed. Left to itself, libscotch
// coarsens large graphs by all cores of the machine, and then finds another mapping each time.
class OneThread {
 public:
  OneThread(SCOTCH_Graph* graph, uint64_t seed) {
    SCOTCH_Context* const context = context_.get();
    Check(SCOTCH_contextOptionSetNum(context, SCOTCH_OPTIONNUMDETERMINISTIC, 1), "contextOptionSetNum");
    Check(SCOTCH_contextThreadSpawn(context, 1, nullptr), "contextThreadSpawn");
    Check(SCOTCH_contextRandomClone(context), "contextRandomClone");
    SCOTCH_contextRandomSeed(context, static_cast<SCOTCH_Num>(seed & 0x7fffffff));
    SCOTCH_contextRandomReset(context);
    Check(SCOTCH_contextBindGraph(context, graph, bound_.get()), "contextBindGraph");
  }

  SCOTCH_Graph* graph() { return bound_.get(); }

 private:
  OwnedContext context_;  // Outlives the graph.
  OwnedGraph bound_;
};

// The devices: every pair as far apart as a byte takes from one to the other, each device as strong as it is fast.
class DeviceArch {
 public:
  // speeds: [D] in thousandths of the fastest one's. bandwidth: [D * D] bytes/us; empty: all pairs are alike.
  DeviceArch(std::vector<SCOTCH_Num> speeds, const std::vector<double>& bandwidth, uint64_t seed) {
    const size_t devices = speeds.size();
    if (bandwidth.empty()) {
      Check(SCOTCH_archCmpltw(arch_.get(), static_cast<SCOTCH_Num>(devices), speeds.data()), "archCmpltw");
      return;
    }
    std::vector<SCOTCH_Num> begin = {0};
    std::vector<SCOTCH_Num> neighbour;
    std::vector<SCOTCH_Num> distance;
    const double fastest = *std::ranges::max_element(bandwidth);
    for (size_t from = 0; from < devices; ++from) {
      for (size_t to = 0; to < devices; ++to) {
        if (from == to) continue;
        // Both ways of a pair must have the same distance: the slower one's.
        const double rate = std::min(bandwidth[from * devices + to], bandwidth[to * devices + from]);
        neighbour.push_back(static_cast<SCOTCH_Num>(to));
        distance.push_back(static_cast<SCOTCH_Num>(std::llround(std::min(kMostDistance, fastest / rate))));
      }
      begin.push_back(static_cast<SCOTCH_Num>(neighbour.size()));
    }
    OwnedGraph map;
    OwnedStrategy strategy;
    Check(SCOTCH_graphBuild(map.get(), 0, static_cast<SCOTCH_Num>(devices), begin.data(), nullptr, speeds.data(),
                            nullptr, static_cast<SCOTCH_Num>(neighbour.size()), neighbour.data(), distance.data()),
          "graphBuild of the devices");
    OneThread work(map.get(), seed);
    Check(SCOTCH_archBuild0(arch_.get(), work.graph(), 0, nullptr, strategy.get()), "archBuild0");
  }

  const SCOTCH_Arch* get() const { return arch_.get(); }

 private:
  OwnedArch arch_;
};

// Of each device in thousandths of the fastest one's, by the time that the ops take which every device may run.
std::vector<SCOTCH_Num> Speeds(const ScheduleGraph& graph) {
  const auto devices = static_cast<size_t>(graph.num_devices());
  std::vector<double> us(devices);
  for (OpIndex op = 0; op < graph.num_ops(); ++op) {
    std::vector<double> row;
    for (DeviceIndex device = 0; device < graph.num_devices(); ++device) row.push_back(graph.CostUs(op, device));
    if (!std::all_of(row.begin(), row.end(), MayRunAt)) continue;
    for (size_t d = 0; d < devices; ++d) us[d] += row[d];
  }
  const double least = *std::min_element(us.begin(), us.end());
  std::vector<SCOTCH_Num> speeds;
  for (const double of_device : us) {
    speeds.push_back(
        of_device > 0 ? std::max<SCOTCH_Num>(1, static_cast<SCOTCH_Num>(std::llround(1000 * least / of_device))) : 1);
  }
  return speeds;
}

// -1: free; units that may run in one place only are fixed there.
std::vector<SCOTCH_Num> FixedUnits(const ScheduleGraph& graph) {
  std::vector<SCOTCH_Num> part;
  for (int32_t unit = 0; unit < graph.num_units(); ++unit) {
    SCOTCH_Num only = -1;
    int allowed = 0;
    for (DeviceIndex device = 0; device < graph.num_devices(); ++device) {
      if (!graph.UnitMayRunOn(unit, device)) continue;
      only = device;
      ++allowed;
    }
    part.push_back(allowed == 1 ? only : -1);
  }
  return part;
}

// What a call of the library works with. It owns all of it, for the call may be abandoned.
class Mapping {
 public:
  // fixed: FixedUnits.
  Mapping(const ScheduleGraph& graph, std::vector<SCOTCH_Num> fixed, uint64_t seed)
      : seed_(seed), part_(std::move(fixed)), units_(graph), speeds_(Speeds(graph)) {
    const SimGraph& sim = graph.task().sim;
    if (sim.link_model == LinkModel::kTopology) bandwidth_ = sim.routes.bandwidth_bytes_per_us;
  }

  // [U] the device of each unit.
  std::vector<SCOTCH_Num> Map() {
    const MutexLock lock(LibraryLock());
    const DeviceArch devices(speeds_, bandwidth_, seed_);
    OneThread work(units_.get(), seed_);
    OwnedStrategy strategy;
    const bool any_fixed = std::any_of(part_.begin(), part_.end(), [](SCOTCH_Num fixed) { return fixed >= 0; });
    Check(any_fixed ? SCOTCH_graphMapFixed(work.graph(), devices.get(), strategy.get(), part_.data())
                    : SCOTCH_graphMap(work.graph(), devices.get(), strategy.get(), part_.data()),
          "graphMap");
    return part_;
  }

 private:
  const uint64_t seed_;
  std::vector<SCOTCH_Num> part_;
  ScotchGraph units_;
  const std::vector<SCOTCH_Num> speeds_;
  std::vector<double> bandwidth_;
};

}  // namespace

ScotchMethod::ScotchMethod(const MethodOptions& options) : seed_(options.seed), stop_(options.stop) {}

MethodResult ScotchMethod::Place(const PlacementTask& task) {
  const ScheduleGraph graph(task, stop_);
  std::vector<SCOTCH_Num> part = FixedUnits(graph);
  if (std::count(part.begin(), part.end(), -1) > 0 && graph.num_devices() > 1) {
    const auto mapping = std::make_shared<Mapping>(graph, part, seed_);
    part = RunOrAbandon([mapping] { return mapping->Map(); }, stop_);
  }
  // Its balance is of work; where memory is short, what no longer fits goes where there is room, in topological order.
  std::vector<DeviceIndex> wanted;
  for (const SCOTCH_Num device : part) wanted.push_back(static_cast<DeviceIndex>(std::max(0, device)));
  return PlaceWithinMemory(graph, [&](UnitPlacement& placing) { return placing.PlaceAsWanted(wanted); });
}

}  // namespace emplace
