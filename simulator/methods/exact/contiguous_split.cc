#include "simulator/methods/exact/contiguous_split.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "common/error.h"
#include "common/sort_unique.h"

namespace emplace {
namespace {

constexpr double kNoSplit = std::numeric_limits<double>::infinity();

using Neighbours = std::vector<std::vector<int32_t>>;  // [n]

Neighbours Successors(const SplitProblem& problem) {
  Neighbours next(problem.nodes.size());
  for (const auto& [from, to] : problem.edges) next[static_cast<size_t>(from)].push_back(to);
  for (std::vector<int32_t>& row : next) {
    SortUnique(row);
  }
  return next;
}

std::vector<int32_t> CountPredecessors(const Neighbours& next) {
  std::vector<int32_t> count(next.size());
  for (const std::vector<int32_t>& row : next) {
    for (const int32_t to : row) ++count[static_cast<size_t>(to)];
  }
  return count;
}

// The ideals of a graph, and which follows from which by one node more. The first is empty, the last has all nodes.
struct Ideals {
  struct Step {
    int32_t node;
    int32_t ideal;
  };
  std::vector<std::vector<Step>> steps;  // By ideal.
};

// nullopt: there are more than `most`.
std::optional<Ideals> FindIdeals(const SplitProblem& problem, size_t most, const StopSignal& stop) {
  if (problem.nodes.size() >= most) return std::nullopt;  // The prefixes of any topological order are ideals.
  const Neighbours next = Successors(problem);
  const std::vector<int32_t> predecessors = CountPredecessors(next);
  std::vector<std::vector<bool>> members = {std::vector<bool>(problem.nodes.size())};
  std::map<std::vector<bool>, int32_t> number = {{members[0], 0}};
  Ideals ideals;
  for (size_t at = 0; at < members.size(); ++at) {
    stop.Poll();
    std::vector<bool> ideal = members[at];
    std::vector<int32_t> missing = predecessors;
    for (size_t node = 0; node < ideal.size(); ++node) {
      if (!ideal[node]) continue;
      for (const int32_t to : next[node]) --missing[static_cast<size_t>(to)];
    }
    std::vector<Ideals::Step>& steps = ideals.steps.emplace_back();
    for (size_t node = 0; node < ideal.size(); ++node) {
      if (ideal[node] || missing[node] > 0) continue;
      ideal[node] = true;
      const auto [found, is_new] = number.try_emplace(ideal, static_cast<int32_t>(members.size()));
      if (is_new) members.push_back(ideal);
      if (members.size() > most) return std::nullopt;
      steps.push_back({static_cast<int32_t>(node), found->second});
      ideal[node] = false;
    }
  }
  return ideals;
}

// A topological order in which what has just got ready comes first.
std::vector<int32_t> DepthFirstOrder(const SplitProblem& problem) {
  const Neighbours next = Successors(problem);
  std::vector<int32_t> missing = CountPredecessors(next);
  std::vector<int32_t> ready;
  for (size_t node = missing.size(); node-- > 0;) {
    if (missing[node] == 0) ready.push_back(static_cast<int32_t>(node));
  }
  std::vector<int32_t> order;
  while (!ready.empty()) {
    const int32_t node = ready.back();
    ready.pop_back();
    order.push_back(node);
    const std::vector<int32_t>& row = next[static_cast<size_t>(node)];
    for (auto to = row.rbegin(); to != row.rend(); ++to) {
      if (--missing[static_cast<size_t>(*to)] == 0) ready.push_back(*to);
    }
  }
  EMPLACE_CHECK(order.size() == missing.size());
  return order;
}

// The least cost of a node on any class; 0 where it may run on none.
double LeastCostUs(const SplitProblem::Node& node) {
  const double least = *std::min_element(node.cost_us.begin(), node.cost_us.end());
  return std::isfinite(least) ? least : 0;
}

// Joins the nodes that share a stretch. [n] stretch_of: 0, 1, ... in the order that the stretches shall have.
SplitProblem Chain(const SplitProblem& problem, const std::vector<int32_t>& stretch_of) {
  const int32_t stretches = CountOf(stretch_of);
  SplitProblem chain;
  chain.classes = problem.classes;
  chain.nodes.resize(static_cast<size_t>(stretches));
  for (SplitProblem::Node& node : chain.nodes) node.cost_us.assign(problem.classes.size(), 0);
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    SplitProblem::Node& node = chain.nodes[static_cast<size_t>(stretch_of[i])];
    node.bytes += problem.nodes[i].bytes;
    for (size_t c = 0; c < node.cost_us.size(); ++c) node.cost_us[c] += problem.nodes[i].cost_us[c];
  }
  for (const SplitProblem::Tensor& tensor : problem.tensors) {
    SplitProblem::Tensor joined{tensor.us, stretch_of[static_cast<size_t>(tensor.maker)], {}};
    for (const int32_t reader : tensor.readers) {
      const int32_t stretch = stretch_of[static_cast<size_t>(reader)];
      if (stretch != joined.maker) joined.readers.push_back(stretch);
    }
    SortUnique(joined.readers);
    if (!joined.readers.empty()) chain.tensors.push_back(std::move(joined));
  }
  for (int32_t stretch = 1; stretch < stretches; ++stretch) chain.edges.emplace_back(stretch - 1, stretch);
  return chain;
}

// Nodes that are put together, and the classes of devices that may run all of them.
class SharedClasses {
 public:
  explicit SharedClasses(const SplitProblem& problem) : problem_(problem), may_run_(problem.classes.size(), true) {}

  // Whether some class may run the node as well as the others. If not, the node begins a new set.
  bool Add(int32_t node) {
    const std::vector<double>& cost_us = problem_.nodes[static_cast<size_t>(node)].cost_us;
    bool any = false;
    for (size_t c = 0; c < may_run_.size(); ++c) {
      any = any || (may_run_[c] && std::isfinite(cost_us[c]) && !problem_.classes[c].devices.empty());
    }
    for (size_t c = 0; c < may_run_.size(); ++c) may_run_[c] = (may_run_[c] || !any) && std::isfinite(cost_us[c]);
    return any;
  }
  void Clear() { may_run_.assign(may_run_.size(), true); }

 private:
  const SplitProblem& problem_;
  std::vector<bool> may_run_;  // [C]
};

// [n] the stretch of each node: a node each, or, where there are more than `most`, neighbours of even cost that some
// device may run together. Where that takes too many, some of them are of ops that share no device.
std::vector<int32_t> Stretches(const SplitProblem& problem, size_t most) {
  const std::vector<int32_t> order = DepthFirstOrder(problem);
  std::vector<int32_t> stretch_of(order.size());
  if (order.size() <= most) {
    for (size_t i = 0; i < order.size(); ++i) stretch_of[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
    return stretch_of;
  }
  double total_us = 0;
  for (const SplitProblem::Node& node : problem.nodes) total_us += LeastCostUs(node);
  // Nodes without a cost count a little, so that no stretch gets all of them.
  const double least_us = total_us > 0 ? total_us / static_cast<double>(order.size()) / 100 : 1;
  std::vector<double> weight;
  for (const SplitProblem::Node& node : problem.nodes) weight.push_back(LeastCostUs(node) + least_us);
  const double total = std::accumulate(weight.begin(), weight.end(), 0.0);
  SharedClasses shared(problem);
  const auto cuts = static_cast<size_t>(std::ranges::count_if(order, [&](int32_t node) { return !shared.Add(node); }));
  const bool may_cut = cuts + 2 <= most;
  const size_t shares = may_cut ? most - cuts : most;
  int32_t stretch = -1;
  double before = 0;
  int64_t last_share = -1;
  for (const int32_t node : order) {
    // The share of all weight in which the node begins.
    const auto share = static_cast<int64_t>(before / total * static_cast<double>(shares - 1));
    if (share != last_share) shared.Clear();
    const bool joins = shared.Add(node) || !may_cut;
    if (share != last_share || !joins) ++stretch;
    last_share = share;
    stretch_of[static_cast<size_t>(node)] = stretch;
    before += weight[static_cast<size_t>(node)];
  }
  return stretch_of;
}

// The load of a set of nodes, to which nodes are added, and taken out last first.
class Piece {
 public:
  struct Sums {
    std::vector<double> cost_us;  // [C]
    double transfers_us = 0;      // Of tensors that enter or leave.
    double bytes = 0;
  };

  explicit Piece(const SplitProblem& problem)
      : problem_(problem),
        tensors_of_(problem.nodes.size()),
        state_(problem.tensors.size()),
        sums_(problem.nodes.size() + 1, Sums{std::vector<double>(problem.classes.size())}) {
    for (size_t t = 0; t < problem.tensors.size(); ++t) {
      tensors_of_[static_cast<size_t>(problem.tensors[t].maker)].push_back(static_cast<int32_t>(t));
      for (const int32_t reader : problem.tensors[t].readers) {
        tensors_of_[static_cast<size_t>(reader)].push_back(static_cast<int32_t>(t));
      }
    }
  }

  const Sums& sums() const { return sums_[size_]; }
  void Add(int32_t node) {
    const Sums& before = sums_[size_];
    Sums& sums = sums_[++size_];
    const SplitProblem::Node& added = problem_.nodes[static_cast<size_t>(node)];
    for (size_t c = 0; c < sums.cost_us.size(); ++c) sums.cost_us[c] = before.cost_us[c] + added.cost_us[c];
    sums.bytes = before.bytes + added.bytes;
    sums.transfers_us = before.transfers_us + Move(node, /*inside=*/true);
  }
  // REQUIRES: the node was added last.
  void Remove(int32_t node) {
    Move(node, /*inside=*/false);
    --size_;
  }

 private:
  struct TensorState {
    bool maker_inside = false;
    int32_t readers_inside = 0;
  };

  bool Crosses(size_t tensor) const {
    const TensorState& state = state_[tensor];
    const auto readers = static_cast<int32_t>(problem_.tensors[tensor].readers.size());
    return state.maker_inside ? state.readers_inside < readers : state.readers_inside > 0;
  }
  // Returns by how much the time of tensors that enter or leave grows.
  double Move(int32_t node, bool inside) {
    double grows_us = 0;
    for (const int32_t tensor : tensors_of_[static_cast<size_t>(node)]) {
      const auto t = static_cast<size_t>(tensor);
      const bool crossed = Crosses(t);
      if (problem_.tensors[t].maker == node) {
        state_[t].maker_inside = inside;
      } else {
        state_[t].readers_inside += inside ? 1 : -1;
      }
      grows_us += problem_.tensors[t].us * (static_cast<double>(Crosses(t)) - static_cast<double>(crossed));
    }
    return grows_us;
  }

  const SplitProblem& problem_;
  std::vector<std::vector<int32_t>> tensors_of_;  // [n] tensors that the node makes or reads
  std::vector<TensorState> state_;
  std::vector<Sums> sums_;  // By the number of nodes; those of fewer nodes are kept for when nodes are taken out.
  size_t size_ = 0;
};

size_t NumDevices(const SplitProblem& problem) {
  size_t devices = 0;
  for (const SplitProblem::DeviceClass& of_class : problem.classes) devices += of_class.devices.size();
  return devices;
}

// best(I, s): the least greatest load when the ideal I is divided among s devices of each class.
class Program {
 public:
  Program(const SplitProblem& problem, const Ideals& ideals)
      : problem_(problem), ideals_(ideals), piece_(problem), seen_from_(ideals.steps.size(), -1) {
    for (const SplitProblem::DeviceClass& devices : problem.classes) {
      stride_.push_back(states_);
      states_ *= devices.devices.size() + 1;
      most_room_bytes_ = std::max(most_room_bytes_, devices.room_bytes);
    }
    states_with_room_.resize(stride_.size());
    for (size_t state = 0; state < states_; ++state) {
      for (size_t c = 0; c < stride_.size(); ++c) {
        if (InClass(state, c) < problem.classes[c].devices.size()) states_with_room_[c].push_back(state);
      }
    }
    entries_.resize(ideals.steps.size() * states_);
    entries_[0].load_us = 0;
  }

  std::vector<GraphSplit> Run(const StopSignal& stop) {
    // Ideals come after those that they contain.
    for (size_t ideal = 0; ideal < ideals_.steps.size(); ++ideal) {
      stop.Poll();
      from_ = static_cast<int32_t>(ideal);
      Extend(from_);
    }
    std::vector<GraphSplit> splits(NumDevices(problem_), {kNoSplit, {}});
    for (size_t state = 0; state < states_; ++state) {
      const double load_us = At(ideals_.steps.size() - 1, state).load_us;
      const size_t devices = DevicesIn(state);
      if (devices == 0 || !(load_us < splits[devices - 1].max_load_us)) continue;
      splits[devices - 1] = {load_us, Trace(state)};
    }
    return splits;
  }

 private:
  struct Entry {
    double load_us = kNoSplit;
    int32_t from = -1;         // The ideal without the last piece,
    int32_t device_class = 0;  // which runs on a device of this class.
  };

  Entry& At(size_t ideal, size_t state) { return entries_[ideal * states_ + state]; }
  size_t InClass(size_t state, size_t c) const { return state / stride_[c] % (problem_.classes[c].devices.size() + 1); }
  size_t DevicesIn(size_t state) const {
    size_t devices = 0;
    for (size_t c = 0; c < stride_.size(); ++c) devices += InClass(state, c);
    return devices;
  }

  // Visits all ideals that contain `ideal`, with the nodes since from_ as the piece.
  void Extend(int32_t ideal) {
    for (const Ideals::Step& step : ideals_.steps[static_cast<size_t>(ideal)]) {
      int32_t& seen = seen_from_[static_cast<size_t>(step.ideal)];
      if (seen == from_) continue;
      seen = from_;
      piece_.Add(step.node);
      if (piece_.sums().bytes <= most_room_bytes_) {  // More nodes would not need less.
        EndPieceAt(static_cast<size_t>(step.ideal));
        Extend(step.ideal);
      }
      piece_.Remove(step.node);
    }
  }

  void EndPieceAt(size_t ideal) {
    const Piece::Sums& sums = piece_.sums();
    for (size_t c = 0; c < problem_.classes.size(); ++c) {
      const double load_us = sums.cost_us[c] + sums.transfers_us;
      if (!(load_us < kNoSplit) || sums.bytes > problem_.classes[c].room_bytes) continue;
      for (const size_t state : states_with_room_[c]) {
        const double greatest = std::max(load_us, At(static_cast<size_t>(from_), state).load_us);
        Entry& entry = At(ideal, state + stride_[c]);
        if (greatest < entry.load_us) entry = {greatest, from_, static_cast<int32_t>(c)};
      }
    }
  }

  std::vector<DeviceIndex> Trace(size_t state) {
    std::vector<DeviceIndex> device_of(problem_.nodes.size(), -1);
    size_t ideal = ideals_.steps.size() - 1;
    while (ideal != 0) {
      const Entry& entry = At(ideal, state);
      const auto c = static_cast<size_t>(entry.device_class);
      const DeviceIndex device = problem_.classes[c].devices[InClass(state, c) - 1];
      MarkBetween(static_cast<size_t>(entry.from), ideal, device, device_of);
      ideal = static_cast<size_t>(entry.from);
      state -= stride_[c];
    }
    return device_of;
  }

  // Gives the device to all nodes of the larger ideal that the smaller one lacks: those on any way from one to the
  // other.
  void MarkBetween(size_t smaller, size_t larger, DeviceIndex device, std::vector<DeviceIndex>& device_of) {
    // Steps lead to higher numbers, so a sweep from the larger ideal back finds from where it can be reached.
    std::vector<bool> reaches(larger + 1);
    reaches[larger] = true;
    for (size_t ideal = larger; ideal-- > smaller;) {
      for (const Ideals::Step& step : ideals_.steps[ideal]) {
        if (static_cast<size_t>(step.ideal) <= larger && reaches[static_cast<size_t>(step.ideal)])
          reaches[ideal] = true;
      }
    }
    size_t at = smaller;
    while (at != larger) {
      for (const Ideals::Step& step : ideals_.steps[at]) {
        if (static_cast<size_t>(step.ideal) > larger || !reaches[static_cast<size_t>(step.ideal)]) continue;
        device_of[static_cast<size_t>(step.node)] = device;
        at = static_cast<size_t>(step.ideal);
        break;
      }
    }
  }

  const SplitProblem& problem_;
  const Ideals& ideals_;
  Piece piece_;
  int32_t from_ = 0;
  std::vector<int32_t> seen_from_;  // By ideal: the last ideal from which it was visited.
  std::vector<size_t> stride_;      // [C] of a state's digits
  size_t states_ = 1;
  std::vector<std::vector<size_t>> states_with_room_;  // [C] states in which a device of the class is free
  double most_room_bytes_ = 0;
  std::vector<Entry> entries_;  // [ideals * states]
};

// Steps of the program for each two ideals.
double StepsBetweenIdeals(const SplitProblem& problem) {
  double classes = 0;
  double states = 1;
  for (const SplitProblem::DeviceClass& of_class : problem.classes) {
    classes += of_class.devices.empty() ? 0 : 1;
    states *= static_cast<double>(of_class.devices.size() + 1);
  }
  return classes * states;
}

// Whether some node may run on this class alone, of which one device is left.
bool IsNeeded(const SplitProblem& problem, size_t of_class) {
  if (problem.classes[of_class].devices.size() > 1) return false;
  return std::ranges::any_of(problem.nodes, [&](const SplitProblem::Node& node) {
    if (!std::isfinite(node.cost_us[of_class])) return false;
    for (size_t c = 0; c < problem.classes.size(); ++c) {
      if (c != of_class && !problem.classes[c].devices.empty() && std::isfinite(node.cost_us[c])) return false;
    }
    return true;
  });
}

// One that is needed only where all are.
void LeaveOutSlowestDevice(SplitProblem& problem) {
  std::vector<std::pair<double, size_t>> by_us;  // Of all nodes.
  for (size_t c = 0; c < problem.classes.size(); ++c) {
    if (problem.classes[c].devices.empty()) continue;
    double us = 0;
    for (const SplitProblem::Node& node : problem.nodes) us += node.cost_us[c];
    by_us.emplace_back(us, c);
  }
  std::ranges::sort(by_us, std::greater<>());
  const auto slowest = std::ranges::find_if(by_us, [&](const auto& one) { return !IsNeeded(problem, one.second); });
  problem.classes[(slowest == by_us.end() ? by_us.front() : *slowest).second].devices.pop_back();
}

std::vector<GraphSplit> SplitsWithin(const SplitProblem& problem, const SplitLimits& limits) {
  if (const std::optional<Ideals> ideals = FindIdeals(problem, limits.most_ideals, limits.stop)) {
    return Program(problem, *ideals).Run(limits.stop);
  }
  const std::vector<int32_t> stretch_of = Stretches(problem, limits.most_stretches);
  const SplitProblem chain = Chain(problem, stretch_of);
  std::vector<GraphSplit> splits =
      Program(chain, *FindIdeals(chain, chain.nodes.size() + 1, limits.stop)).Run(limits.stop);
  for (GraphSplit& split : splits) {
    if (split.device_of.empty()) continue;
    std::vector<DeviceIndex> device_of;
    for (const int32_t stretch : stretch_of) device_of.push_back(split.device_of[static_cast<size_t>(stretch)]);
    split.device_of = std::move(device_of);
  }
  return splits;
}

}  // namespace

std::vector<GraphSplit> ContiguousSplits(const SplitProblem& problem, const SplitLimits& limits) {
  EMPLACE_CHECK(!problem.nodes.empty() && limits.most_stretches >= 2);
  SplitProblem on_fewer = problem;
  const auto fewest = static_cast<double>(std::min(kFewestStretches, limits.most_stretches));
  while (NumDevices(on_fewer) > 1 && StepsBetweenIdeals(on_fewer) * fewest * fewest / 2 > limits.most_steps) {
    LeaveOutSlowestDevice(on_fewer);
  }
  const double ideals = std::max(fewest + 1, std::sqrt(2 * limits.most_steps / StepsBetweenIdeals(on_fewer)));
  SplitLimits within = limits;
  if (ideals < static_cast<double>(limits.most_ideals)) within.most_ideals = static_cast<size_t>(ideals);
  within.most_stretches = std::min(limits.most_stretches, within.most_ideals - 1);
  std::vector<GraphSplit> splits = SplitsWithin(on_fewer, within);
  splits.resize(NumDevices(problem), {kNoSplit, {}});
  return splits;
}

}  // namespace emplace
