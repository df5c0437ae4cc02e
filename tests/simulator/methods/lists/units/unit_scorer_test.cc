#include "simulator/methods/lists/units/unit_scorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "simulator/engine/free_sources.h"
#include "simulator/methods/lists/units/list_method.h"
#include "simulator/methods/lists/units/unit_facts.h"
#include "simulator/methods/lists/units/unit_scheduler.h"
#include "simulator/methods/lists/upward_rank.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/simulator/methods/microbatches.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// Every op of the task as a unit of its own.
std::vector<OpIndex> EachItself(const PlacementTask& task) {
  std::vector<OpIndex> op_of;
  for (OpIndex op = 0; op < task.sim.num_ops; ++op) op_of.push_back(op);
  return op_of;
}

// What was placed, in order, and what was sent.
struct History {
  struct Unit {
    OpIndex unit;
    UnitFit fit;
  };
  std::vector<Unit> units;
  std::vector<std::pair<DeviceIndex, double>> sent;

  const UnitFit* FitOf(OpIndex unit) const {
    const auto found = std::ranges::find(units, unit, &Unit::unit);
    return found == units.end() ? nullptr : &found->fit;
  }
};

// Each feature from its definition: all sums are over the whole history.
class FeatureOracle {
 public:
  FeatureOracle(const ScheduleGraph& graph, const UnitFacts& facts, const History& history, const UnitPlacement& units)
      : graph_(graph), sim_(graph.task().sim), facts_(facts), history_(history), units_(units) {}

  UnitFeatures Of(OpIndex unit, const std::vector<UnitFit>& fits, size_t at, std::span<const OpIndex> parameters) {
    const auto u = static_cast<size_t>(unit);
    const UnitFit& fit = fits[at];
    const double unit_us = std::max(facts_.mean_us[u], facts_.path_us / 10000);
    const double percent_us = facts_.path_us / 100;
    UnitFit first = fit;
    for (const UnitFit& other : fits) {
      first.finish_us = std::min(first.finish_us, other.finish_us);
      first.start_us = std::min(first.start_us, other.start_us);
      first.cost_us = std::min(first.cost_us, other.cost_us);
    }
    UnitFeatures f;
    f.finish_behind = (fit.finish_us - first.finish_us) / unit_us;
    f.finish_behind_path = (fit.finish_us - first.finish_us) / percent_us;
    f.finish_behind_log = std::asinh(f.finish_behind);
    f.finish_behind_path_log = std::asinh(f.finish_behind_path);
    f.finishes_first = fit.finish_us == first.finish_us ? 1 : 0;
    f.start_behind = (fit.start_us - first.start_us) / unit_us;
    f.start_behind_path = (fit.start_us - first.start_us) / percent_us;
    f.cost = first.cost_us > 0 ? std::log(fit.cost_us / first.cost_us) : 0;
    f.transfers = fit.sent_us / unit_us;
    f.transfers_path = fit.sent_us / percent_us;
    AddInputs(unit, fit, f);
    AddLoads(fit, percent_us, f);
    double end_us = 0;
    for (const auto& [other, placed] : history_.units)
      end_us = std::max(end_us, placed.finish_us + facts_.follows_us[static_cast<size_t>(other)]);
    f.lengthens = std::max(0.0, fit.finish_us + facts_.follows_us[u] - end_us) / percent_us;
    AddReaders(unit, fit, f);
    const UnitFit* const earlier = facts_.earlier[u] < 0 ? nullptr : history_.FitOf(facts_.earlier[u]);
    f.earlier_there = earlier != nullptr && earlier->device == fit.device ? 1 : 0;
    f.microbatch_there = facts_.microbatch[u] < 0 ? 0 : ShareOfWork(facts_.microbatch, u, fit.device);
    f.part_there = ShareOfWork(facts_.part[0], u, fit.device);
    f.fine_part_there = ShareOfWork(facts_.part[1], u, fit.device);
    f.parameters_finish = parameters.empty() ? 0 : f.finish_behind_path;
    double bytes = units_.used_bytes(fit.device) + static_cast<double>(graph_.UnitBytes(graph_.UnitOf(unit)));
    for (const OpIndex p : parameters) bytes += static_cast<double>(graph_.UnitBytes(graph_.UnitOf(p)));
    f.memory = bytes / units_.room_bytes(fit.device);
    f.late_finish = facts_.depth[u] * f.finish_behind_path;
    f.late_load = facts_.depth[u] * f.load;
    return f;
  }

 private:
  static double Squash(double x) { return x > 0 ? x / (1 + x) : 0; }

  double LoadUs(DeviceIndex device) const {
    double us = 0;
    for (const auto& [unit, fit] : history_.units) us += fit.device == device ? fit.cost_us : 0;
    return us;
  }

  // Of the work on units of the same thing as u, that on the device.
  double ShareOfWork(const std::vector<int32_t>& thing_of, size_t u, DeviceIndex device) const {
    double there_us = 0;
    double all_us = 0;
    for (const auto& [unit, fit] : history_.units) {
      if (thing_of[static_cast<size_t>(unit)] != thing_of[u]) continue;
      all_us += fit.cost_us;
      there_us += fit.device == device ? fit.cost_us : 0;
    }
    return all_us > 0 ? there_us / all_us : 0;
  }

  void AddInputs(OpIndex unit, const UnitFit& fit, UnitFeatures& f) const {
    double bytes = 0;
    double inputs = 0;
    double inputs_there = 0;
    double last_us = -1;
    for (const int32_t tensor : graph_.InputsOf(unit)) {
      const OpIndex producer = graph_.ProducerOf(tensor);
      if (!units_.IsPlaced(producer)) continue;
      bytes += static_cast<double>(sim_.tensor_bytes[static_cast<size_t>(tensor)]);
      inputs += 1;
      const bool there = units_.DeviceOf(producer) == fit.device;
      inputs_there += there ? 1 : 0;
      const UnitFit* const made = history_.FitOf(producer);
      const double made_us = made == nullptr ? 0 : made->finish_us;
      if (made_us > last_us) {
        last_us = made_us;
        f.last_producer_there = there ? 1 : 0;
      }
    }
    f.inputs_there = bytes > 0 ? (bytes - fit.sent_bytes) / bytes : 0;
    f.producers_there = inputs > 0 ? inputs_there / inputs : 0;
  }

  void AddLoads(const UnitFit& fit, double percent_us, UnitFeatures& f) const {
    const DeviceIndex devices = sim_.num_devices;
    double all_us = 0;
    double least_us = LoadUs(0);
    double used = 0;
    for (DeviceIndex d = 0; d < devices; ++d) {
      all_us += LoadUs(d);
      least_us = std::min(least_us, LoadUs(d));
      used += EndUs(d) > 0 ? 1 : 0;
    }
    f.load = all_us > 0 ? LoadUs(fit.device) / (all_us / devices) : 0;
    f.load_behind = Squash((LoadUs(fit.device) - least_us) / percent_us);
    f.idle = Squash((fit.start_us - EndUs(fit.device)) / percent_us);
    f.inserted = fit.start_us < EndUs(fit.device) ? 1 : 0;
    f.unused = EndUs(fit.device) > 0 ? 0 : 1;
    f.unused_of_many = f.unused * used / devices;
    double busy_us = 0;
    for (const auto& [from, until_us] : history_.sent) busy_us = std::max(busy_us, from == fit.device ? until_us : 0);
    f.link_busy = Squash((busy_us - fit.finish_us) / percent_us);
  }

  double EndUs(DeviceIndex device) const {
    double us = 0;
    for (const auto& [unit, fit] : history_.units) us = std::max(us, fit.device == device ? fit.finish_us : 0);
    return us;
  }

  // Tensors that readers of the unit's tensors read besides, once for each of its tensors.
  void AddReaders(OpIndex unit, const UnitFit& fit, UnitFeatures& f) const {
    double all = 0;
    double there = 0;
    for (const OpIndex reader : sim_.ReadersOf(unit)) {
      for (const int32_t tensor : graph_.InputsOf(reader)) {
        const UnitFit* const made = history_.FitOf(graph_.ProducerOf(tensor));
        if (made == nullptr) continue;
        all += 1;
        there += made->device == fit.device ? 1 : 0;
      }
    }
    f.co_producers_there = all > 0 ? there / all : 0;
  }

  const ScheduleGraph& graph_;
  const SimGraph& sim_;
  const UnitFacts& facts_;
  const History& history_;
  const UnitPlacement& units_;
};

// Fits of any times: features are defined for all of them.
std::vector<UnitFit> RandomFits(const ScheduleGraph& graph, OpIndex unit, std::span<const DeviceIndex> devices,
                                Rng& rng) {
  std::vector<UnitFit> fits;
  for (const DeviceIndex device : devices) {
    UnitFit fit = {.device = device, .start_us = rng.Uniform(0, 1000), .cost_us = graph.CostUs(unit, device)};
    fit.finish_us = fit.start_us + fit.cost_us;
    for (const int32_t tensor : graph.InputsOf(unit)) {
      if (rng.Uniform() < 0.5) continue;
      fit.sent_us += rng.Uniform(0, 10);
      fit.sent_bytes += static_cast<double>(graph.task().sim.tensor_bytes[static_cast<size_t>(tensor)]);
    }
    fits.push_back(fit);
  }
  return fits;
}

void ExpectFeatures(const UnitFeatures& got, const UnitFeatures& expected, const std::string& where) {
  for (const UnitFeature& feature : UnitFeatureTable()) {
    const double want = expected.*feature.member;
    EXPECT_NEAR(got.*feature.member, want, 1e-9 * (1 + std::abs(want))) << feature.name << ", " << where;
  }
}

// Places all units on random devices, and compares their features before each with the oracle's. Adds to `seen` which
// features were other than 0.
void CheckFeatures(const PlacementTask& task, Rng& rng, const std::string& where, std::set<std::string>& seen) {
  const ScheduleGraph graph(task);
  const UnitFacts facts = MakeUnitFacts(task, EachItself(task), graph);
  const std::vector<uint8_t> is_free = FreeSources(task.sim);
  const std::vector<double> room_bytes(static_cast<size_t>(task.sim.num_devices), 1e9);
  UnitPlacement units(graph, room_bytes);
  UnitFeatureMaker maker(graph, facts);
  History history;
  for (const OpIndex unit : ByMeanUpwardRank(graph)) {
    if (is_free[static_cast<size_t>(unit)] == 1) continue;
    std::vector<OpIndex> parameters;
    for (const int32_t tensor : graph.InputsOf(unit)) {
      const OpIndex producer = graph.ProducerOf(tensor);
      if (!units.IsPlaced(producer)) parameters.push_back(producer);
    }
    const std::vector<DeviceIndex> devices = units.Candidates(unit);
    const std::vector<UnitFit> fits = RandomFits(graph, unit, devices, rng);
    const std::span<const UnitFeatures> got = maker.Of(unit, fits, parameters, units);
    for (size_t i = 0; i < fits.size(); ++i) {
      const UnitFeatures expected = FeatureOracle(graph, facts, history, units).Of(unit, fits, i, parameters);
      ExpectFeatures(got[i], expected, where);
      for (const UnitFeature& feature : UnitFeatureTable()) {
        if (expected.*feature.member != 0) seen.insert(feature.name);
      }
    }
    const auto chosen = static_cast<size_t>(rng.UniformInt(0, std::ssize(fits) - 1));
    for (const OpIndex parameter : parameters) units.Assign(parameter, units.Candidates(parameter).front());
    units.Assign(unit, fits[chosen].device);
    maker.Placed(unit, fits[chosen]);
    history.units.push_back({unit, fits[chosen]});
    history.sent.emplace_back(fits[chosen].device, rng.Uniform(0, 2000));
    maker.Sent(history.sent.back().first, history.sent.back().second);
  }
}

TEST(UnitFeatures, AreThoseOfTheDefinitions) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < Trials(40); ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(
        rng, {.max_ops = 40, .parameters = 4, .restricted = 0.1, .link_model = static_cast<LinkModel>(seed % 3)});
    CheckFeatures(task, rng, "seed " + std::to_string(seed), seen);
    const std::vector<Op> of_each = {HandOp("b", 10 + rng.Uniform(0, 5), {0}), HandOp("c", 10, {1}),
                                     HandOp("d", 20, {0, 2})};
    CheckFeatures(MicrobatchTask({HandOp("a", 10, {})}, of_each, 3, HandCluster(3)), rng,
                  "micro-batches, seed " + std::to_string(seed), seen);
  }
  EXPECT_EQ(seen.size(), kNumUnitFeatures);
}

TEST(UnitFeatures, HaveNamesAndTextsOfTheirOwnInTheOrderOfTheStruct) {
  std::set<std::string> names;
  std::set<std::string> texts;
  const UnitFeatures features;
  const double* next = &features.finish_behind;
  for (const UnitFeature& feature : UnitFeatureTable()) {
    names.insert(feature.name);
    texts.insert(feature.help);
    EXPECT_EQ(&(features.*feature.member), next++) << feature.name;
  }
  EXPECT_EQ(names.size(), kNumUnitFeatures);
  EXPECT_EQ(texts.size(), kNumUnitFeatures);
}

TEST(UnitFacts, TellWhatFollowsAndWhereARepeatedOpWas) {
  // a (10 us) -> b (20) -> c (30) in each of two micro-batches, by tensors of 10 us: the longest path takes 80 us.
  const PlacementTask task =
      MicrobatchTask({HandOp("a", 10, {})}, {HandOp("b", 20, {0}), HandOp("c", 30, {1})}, 2, HandCluster(2));
  const ScheduleGraph graph(task);
  const UnitFacts facts = MakeUnitFacts(task, EachItself(task), graph);
  EXPECT_EQ(facts.path_us, 80);
  EXPECT_EQ(facts.follows_us, (std::vector<double>{70, 40, 0, 40, 0}));
  EXPECT_EQ(facts.depth, (std::vector<double>{0, 0.25, 0.625, 0.25, 0.625}));
  EXPECT_EQ(facts.microbatch, (std::vector<int32_t>{-1, 0, 0, 1, 1}));
  EXPECT_EQ(facts.earlier, (std::vector<OpIndex>{-1, -1, -1, 1, 2}));
}

Placement Scheduled(const PlacementTask& task, const std::optional<UnitScorerOptions>& options, uint64_t seed = 1) {
  const ScheduleGraph graph(task);
  const UnitFacts facts = MakeUnitFacts(task, EachItself(task), graph);
  const std::vector<uint8_t> is_free = FreeSources(task.sim);
  std::vector<double> room_bytes;
  for (const int64_t bytes : task.sim.memory_bytes) room_bytes.push_back(static_cast<double>(bytes));
  std::optional<UnitScorer> scorer;
  if (options) scorer.emplace(graph, facts, *options, Rng(seed));
  UnitScheduler scheduler(graph, is_free, room_bytes, scorer ? &*scorer : nullptr);
  scheduler.Run(ByMeanUpwardRank(graph, 2));
  return scheduler.units().placement();
}

TEST(UnitScorer, PutsUnitsWhereTheyEndFirstByTheWeightsSetByHand) {
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(
        rng, {.max_ops = 80, .parameters = 4, .restricted = 0.1, .link_model = static_cast<LinkModel>(seed % 3)});
    EXPECT_EQ(Scheduled(task, UnitScorerOptions()), Scheduled(task, std::nullopt)) << "seed " << seed;
  }
}

TEST(UnitScorer, PutsUnitsByTheirWeights) {
  const PlacementTask task = HandTask(Diamond(), HandCluster(2));
  // Where most of the inputs are: the first op goes to device 0, for all scores are equal there, and the others follow.
  EXPECT_EQ(Scheduled(task, UnitScorerOptions{.weights = {.inputs_there = 1}}), (Placement{0, 0, 0, 0}));
  // Where there is less work: a (10 us) on 0, c (30) on 1 from 20 to 50 us, b (20) on 0. Both have 30 us of work then,
  // and d ends first on 1, where c is.
  EXPECT_EQ(Scheduled(task, UnitScorerOptions{.weights = {.load = -1}}), (Placement{0, 0, 1, 1}));
}

TEST(UnitScorer, DrawsInProportionToTheExponentialsOfScores) {
  // One op of 10 us on a device and of 20 us on the other: it finishes one mean time (15 us) times 2/3 behind there.
  std::vector<Op> ops = {HandOp("a", 0, {})};
  ops[0].cost = OpCost::ByKind({{"x", 10}, {"y", 20}});
  Cluster cluster = HandCluster(2);
  cluster.devices[1].kind = "y";
  const PlacementTask task = HandTask(ops, cluster);
  constexpr double kTemperature = 0.5;
  constexpr int kDraws = 2000;
  int on_first = 0;
  for (uint64_t seed = 0; seed < kDraws; ++seed)
    on_first += Scheduled(task, UnitScorerOptions{.temperature = kTemperature}, seed)[0] == 0 ? 1 : 0;
  const double expected = 1 / (1 + std::exp(-2.0 / 3 / kTemperature));
  EXPECT_NEAR(static_cast<double>(on_first) / kDraws, expected, 4 * std::sqrt(expected * (1 - expected) / kDraws));
}

TEST(UnitScorer, IsNeededForAnyOtherWeightAndForDrawing) {
  EXPECT_TRUE(UnitScorerOptions().TakesFirstFinish());
  EXPECT_TRUE((UnitScorerOptions{.weights = {.finish_behind = -3}}.TakesFirstFinish()));
  EXPECT_FALSE((UnitScorerOptions{.weights = {.finish_behind = 1}}.TakesFirstFinish()));
  EXPECT_FALSE((UnitScorerOptions{.weights = {.finish_behind = -1, .load = 0.5}}.TakesFirstFinish()));
  EXPECT_FALSE(UnitScorerOptions{.temperature = 1}.TakesFirstFinish());
}

TEST(UnitScorer, DrawsForTheMethodListByItsSeed) {
  const PlacementTask task = HandTask(Diamond(), HandCluster(2));
  const auto drawn = [&](uint64_t seed) {
    return *ListMethod({.seed = seed, .own = {{"temperature", 10.0}, {"passes", int64_t{1}}}}).Place(task).placement;
  };
  std::set<Placement> all;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(drawn(seed), drawn(seed));
    all.insert(drawn(seed));
  }
  EXPECT_GT(all.size(), 1u);
}

}  // namespace
}  // namespace emplace
