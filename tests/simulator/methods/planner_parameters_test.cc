#include "simulator/methods/planner_parameters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>

#include "simulator/methods/lists/units/list_method.h"
#include "simulator/methods/search/auto_method.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/bad_input.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

std::vector<double> Zeros() { return std::vector<double>(PlannerParameterTable().size()); }

std::vector<double> ValuesOf(const PlannerParameters& planner) {
  std::vector<double> values;
  for (const PlannerParameter& parameter : PlannerParameterTable()) values.push_back(parameter.get(planner));
  return values;
}

// Files of policies keep them by their places. Add names at the end.
TEST(PlannerParameters, KeepTheirPlaces) {
  const std::vector<std::string> known = {"scorer.finish_behind",
                                          "scorer.finish_behind_path",
                                          "scorer.finish_behind_log",
                                          "scorer.finish_behind_path_log",
                                          "scorer.finishes_first",
                                          "scorer.start_behind",
                                          "scorer.start_behind_path",
                                          "scorer.cost",
                                          "scorer.transfers",
                                          "scorer.transfers_path",
                                          "scorer.inputs_there",
                                          "scorer.producers_there",
                                          "scorer.last_producer_there",
                                          "scorer.load",
                                          "scorer.load_behind",
                                          "scorer.idle",
                                          "scorer.inserted",
                                          "scorer.link_busy",
                                          "scorer.unused",
                                          "scorer.unused_of_many",
                                          "scorer.lengthens",
                                          "scorer.co_producers_there",
                                          "scorer.earlier_there",
                                          "scorer.microbatch_there",
                                          "scorer.parameters_finish",
                                          "scorer.memory",
                                          "scorer.late_finish",
                                          "scorer.late_load",
                                          "scorer.part_there",
                                          "scorer.fine_part_there",
                                          "list.alpha",
                                          "list.join",
                                          "list.most_work",
                                          "list.most_memory",
                                          "search.family",
                                          "search.neighbours",
                                          "search.neighbour_comes",
                                          "search.swap",
                                          "search.to_neighbour",
                                          "search.column",
                                          "search.window",
                                          "search.first_hot",
                                          "search.first_cold",
                                          "search.first_most_heat",
                                          "search.ordered_hot",
                                          "search.ordered_cold",
                                          "search.ordered_most_heat",
                                          "search.coarse_hot",
                                          "search.coarse_cold",
                                          "search.coarse_most_heat",
                                          "search.warmer_end_on_two",
                                          "search.few_units",
                                          "search.few_units_hot",
                                          "search.most_share_for_columns",
                                          "search.most_share_for_coarse",
                                          "search.most_share_to_order",
                                          "search.share_to_fit",
                                          "search.most_ops_left",
                                          "search.coarse_share",
                                          "search.replica_share",
                                          "search.mirrored_share",
                                          "search.first_share",
                                          "search.first_end_on_two",
                                          "search.large_gain",
                                          "search.large_loss",
                                          "search.few_moves",
                                          "search.most_coarse_groups"};
  ASSERT_GE(PlannerParameterTable().size(), known.size());
  for (size_t i = 0; i < known.size(); ++i) EXPECT_EQ(PlannerParameterTable()[i].name, known[i]);
}

TEST(PlannerParameters, StartWithWhatIsSetByHand) {
  const std::vector<double> start = ValuesOf(PlannerAt(Zeros()));
  EXPECT_EQ(start, ValuesOf(PlannerParameters()));
  for (size_t i = 0; i < start.size(); ++i) {
    const PlannerParameter& parameter = PlannerParameterTable()[i];
    EXPECT_EQ(start[i], parameter.start) << parameter.name;
    EXPECT_GT(parameter.step, 0) << parameter.name;
    EXPECT_LE(parameter.low, parameter.start) << parameter.name;
    EXPECT_GE(parameter.high, parameter.start) << parameter.name;
    EXPECT_LT(parameter.low, parameter.high) << parameter.name;
  }
}

TEST(PlannerParameters, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const PlannerParameter& parameter : PlannerParameterTable()) names.insert(parameter.name);
  EXPECT_EQ(names.size(), PlannerParameterTable().size());
  for (const std::string name : {"scorer.finish_behind", "list.alpha", "search.coarse_share"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(PlannerParameters, MoveAloneByTheirSteps) {
  const std::vector<double> start = ValuesOf(PlannerParameters());
  for (size_t i = 0; i < start.size(); ++i) {
    const PlannerParameter& parameter = PlannerParameterTable()[i];
    for (const double steps : {-0.5, 0.5}) {
      std::vector<double> moved = Zeros();
      moved[i] = steps;
      const std::vector<double> values = ValuesOf(PlannerAt(moved));
      const double wanted = parameter.scale == PlannerParameter::Scale::kLog
                                ? parameter.start * std::pow(std::exp(parameter.step), steps)
                                : parameter.start + steps * parameter.step;
      for (size_t j = 0; j < values.size(); ++j) {
        if (j != i) {
          EXPECT_EQ(values[j], start[j]) << PlannerParameterTable()[j].name << " by " << parameter.name;
        }
      }
      if (wanted < parameter.low || wanted > parameter.high) continue;
      EXPECT_NE(values[i], start[i]) << parameter.name;
      EXPECT_NEAR(values[i], wanted, start[i] > 9 ? 0.5 : 1e-12) << parameter.name;  // Some are whole numbers.
    }
  }
}

TEST(PlannerParameters, StayInTheirRanges) {
  for (const double steps : {-1e6, 1e6, -std::numeric_limits<double>::infinity(), 50.0}) {
    const std::vector<double> values = ValuesOf(PlannerAt(std::vector<double>(Zeros().size(), steps)));
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_GE(values[i], PlannerParameterTable()[i].low) << PlannerParameterTable()[i].name;
      EXPECT_LE(values[i], PlannerParameterTable()[i].high) << PlannerParameterTable()[i].name;
    }
  }
}

TEST(PlannerParameters, AreAsManyNumbersAsTheTableHas) {
  std::vector<double> steps = Zeros();
  steps.front() = std::nan("");
  EXPECT_EQ(BadInputOf([&] { PlannerAt(steps); }), "the planner's scorer.finish_behind is no number");
  steps.pop_back();
  EXPECT_NE(BadInputOf([&] { PlannerAt(steps); }), "");
  EXPECT_NE(BadInputOf([] { PlannerAt({}); }), "");
}

// A planner with one parameter so many steps from its start.
std::shared_ptr<const PlannerParameters> Moved(const std::string& name, double steps) {
  std::vector<double> all = Zeros();
  for (size_t i = 0; i < all.size(); ++i) all[i] = PlannerParameterTable()[i].name == name ? steps : 0;
  return std::make_shared<const PlannerParameters>(PlannerAt(all));
}

TEST(PlannerParameters, OfTheStartChangeNoPlacement) {
  const auto start = std::make_shared<const PlannerParameters>(PlannerAt(Zeros()));
  for (uint64_t seed = 0; seed < Trials(10); ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.max_ops = 100, .parameters = 4});
    EXPECT_EQ(ListMethod({.planner = start}).Place(task).placement, ListMethod({}).Place(task).placement);
    EXPECT_EQ(AutoMethod({.budget = 300, .planner = start}).Place(task).placement,
              AutoMethod({.budget = 300}).Place(task).placement);
  }
}

TEST(PlannerParameters, SteerTheMethodListUnlessAnOptionIsGiven) {
  const PlacementTask task = HandTask(Diamond(), HandCluster(2));
  const auto placed = [&](std::map<std::string, ConfigField::Value> own) {
    own["passes"] = int64_t{1};
    own["most_work"] = 1.0;
    return *ListMethod({.own = std::move(own), .planner = Moved("list.join", 100)}).Place(task).placement;
  };
  const auto by_hand = [&](double join) {
    return *ListMethod({.own = {{"join", join}, {"most_work", 1.0}, {"passes", int64_t{1}}}}).Place(task).placement;
  };
  EXPECT_NE(by_hand(100), by_hand(0.1));
  EXPECT_EQ(placed({}), by_hand(100));
  EXPECT_EQ(placed({{"join", 0.1}}), by_hand(0.1));
}

TEST(PlannerParameters, SteerTheScorerOfTheMethodList) {
  const PlacementTask task = HandTask(Diamond(), HandCluster(2));
  const auto on_one = Moved("scorer.inputs_there", 300);
  const std::map<std::string, ConfigField::Value> one_pass = {{"join", 1e9}, {"passes", int64_t{1}}};
  EXPECT_EQ(*ListMethod({.own = one_pass, .planner = on_one}).Place(task).placement, (Placement{0, 0, 0, 0}));
  EXPECT_NE(*ListMethod({.own = one_pass}).Place(task).placement, (Placement{0, 0, 0, 0}));
}

TEST(PlannerParameters, SteerTheSearchOfAuto) {
  std::set<std::string> without_effect;
  for (const std::string name : {"search.family", "search.first_hot", "search.ordered_cold", "search.few_units"}) {
    const bool orders = name != "search.first_hot";  // Without orders the walk that it is for is the whole search.
    bool differs = false;
    for (uint64_t seed = 0; seed < 10 && !differs; ++seed) {
      Rng rng(seed);
      const PlacementTask task = RandomTask(rng, {.max_ops = 200, .parameters = 4});
      const MethodResult moved = AutoMethod({.budget = 400, .planner = Moved(name, -10), .orders = orders}).Place(task);
      const MethodResult by_hand = AutoMethod({.budget = 400, .orders = orders}).Place(task);
      differs = moved.placement != by_hand.placement || moved.orders != by_hand.orders;
    }
    if (!differs) without_effect.insert(name);
  }
  EXPECT_TRUE(without_effect.empty()) << *without_effect.begin();
}

}  // namespace
}  // namespace emplace
