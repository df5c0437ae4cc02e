#include "simulator/methods/planner_parameters.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

using Scale = PlannerParameter::Scale;

// member: from the parameters to the number, const or not.
template <typename Member>
PlannerParameter Line(std::string name, double low, double high, Scale scale, double step, Member member) {
  PlannerParameter line = {.name = std::move(name), .low = low, .high = high, .scale = scale, .step = step};
  line.get = [member](const PlannerParameters& p) { return static_cast<double>(member(p)); };
  line.set = [member](PlannerParameters& p, double value) {
    using Number = std::remove_reference_t<decltype(member(p))>;
    member(p) = std::is_integral_v<Number> ? static_cast<Number>(std::lround(value)) : static_cast<Number>(value);
  };
  line.start = line.get(PlannerParameters());
  return line;
}

// A share, of which a step is a tenth.
template <typename Member>
PlannerParameter Share(std::string name, Member member) {
  return Line(std::move(name), 0, 1, Scale::kLinear, 0.1, member);
}

// A number above 0, of which a step is about a third.
template <typename Member>
PlannerParameter Factor(std::string name, double low, double high, Member member) {
  return Line(std::move(name), low, high, Scale::kLog, 0.3, member);
}

void AddHeat(const std::string& walk, WalkHeat SearchParameters::*heat, std::vector<PlannerParameter>& table) {
  table.push_back(Factor(
      StrCat("search.", walk, "_hot"), 1e-5, 0.1, [=](auto& p) -> auto& { return (p.search.*heat).hot; }));
  table.push_back(Factor(
      StrCat("search.", walk, "_cold"), 1e-7, 0.01, [=](auto& p) -> auto& { return (p.search.*heat).cold; }));
  table.push_back(Factor(
      StrCat("search.", walk, "_most_heat"), 1, 100, [=](auto& p) -> auto& { return (p.search.*heat).most_heat; }));
}

std::vector<PlannerParameter> MakeTable() {
  std::vector<PlannerParameter> table;
  for (const UnitFeature& feature : UnitFeatureTable()) {
    table.push_back(Line(
        StrCat("scorer.", feature.name), -100, 100, Scale::kLinear,
        0.3, [member = feature.member](auto& p) -> auto& { return p.scorer.*member; }));
  }
  table.push_back(Factor(
      "list.alpha", 0.1, 20, [](auto& p) -> auto& { return p.list.alpha; }));
  table.push_back(Factor(
      "list.join", 0.1, 100, [](auto& p) -> auto& { return p.list.units.send_over_compute; }));
  table.push_back(Factor(
      "list.most_work", 0.002, 1, [](auto& p) -> auto& { return p.list.units.most_work; }));
  table.push_back(Factor(
      "list.most_memory", 0.01, 1, [](auto& p) -> auto& { return p.list.units.most_memory; }));

  table.push_back(Share(
      "search.family", [](auto& p) -> auto& { return p.search.mix.family; }));
  table.push_back(Share(
      "search.neighbours", [](auto& p) -> auto& { return p.search.mix.neighbours; }));
  table.push_back(Share(
      "search.neighbour_comes", [](auto& p) -> auto& { return p.search.mix.neighbour_comes; }));
  table.push_back(Share(
      "search.swap", [](auto& p) -> auto& { return p.search.mix.swap; }));
  table.push_back(Share(
      "search.to_neighbour", [](auto& p) -> auto& { return p.search.mix.to_neighbour; }));
  table.push_back(Share(
      "search.column", [](auto& p) -> auto& { return p.search.mix.column; }));
  table.push_back(Share(
      "search.window", [](auto& p) -> auto& { return p.search.mix.window; }));
  AddHeat("first", &SearchParameters::first, table);
  AddHeat("ordered", &SearchParameters::ordered, table);
  AddHeat("coarse", &SearchParameters::coarse, table);
  table.push_back(Factor(
      "search.warmer_end_on_two", 0.1, 100, [](auto& p) -> auto& { return p.search.warmer_end_on_two; }));
  table.push_back(Factor(
      "search.few_units", 10, 10000, [](auto& p) -> auto& { return p.search.few_units; }));
  table.push_back(Factor(
      "search.few_units_hot", 0.01, 100, [](auto& p) -> auto& { return p.search.few_units_hot; }));

  const auto add_share = [&](const std::string& name, double PhaseRules::*share) {
    table.push_back(Share(
        StrCat("search.", name), [=](auto& p) -> auto& { return p.search.phases.*share; }));
  };
  add_share("most_share_for_columns", &PhaseRules::most_share_for_columns);
  add_share("most_share_for_coarse", &PhaseRules::most_share_for_coarse);
  add_share("most_share_to_order", &PhaseRules::most_share_to_order);
  add_share("share_to_fit", &PhaseRules::share_to_fit);
  add_share("most_ops_left", &PhaseRules::most_ops_left);
  add_share("coarse_share", &PhaseRules::coarse_share);
  add_share("replica_share", &PhaseRules::replica_share);
  add_share("mirrored_share", &PhaseRules::mirrored_share);
  add_share("first_share", &PhaseRules::first_share);
  add_share("first_end_on_two", &PhaseRules::first_end_on_two);
  add_share("large_gain", &PhaseRules::large_gain);
  add_share("large_loss", &PhaseRules::large_loss);
  table.push_back(Factor(
      "search.few_moves", 0.01, 100, [](auto& p) -> auto& { return p.search.phases.few_moves; }));
  table.push_back(Factor(
      "search.most_coarse_groups", 100, 20000, [](auto& p) -> auto& { return p.search.phases.most_coarse_groups; }));
  table.push_back(Share(
      "search.relief", [](auto& p) -> auto& { return p.search.mix.relief; }));
  add_share("relief_share", &PhaseRules::relief_share);
  return table;
}

}  // namespace

double PlannerParameter::Moved(double value, double steps) const {
  return std::clamp(scale == Scale::kLog ? value * std::exp(step * steps) : value + step * steps, low, high);
}

const std::vector<PlannerParameter>& PlannerParameterTable() {
  static const std::vector<PlannerParameter> table = MakeTable();
  return table;
}

PlannerParameters PlannerAt(std::span<const double> steps) {
  const std::vector<PlannerParameter>& table = PlannerParameterTable();
  if (steps.size() != table.size())
    throw BadInput(StrCat("a planner has ", steps.size(), " parameters, expected ", table.size()));
  PlannerParameters planner;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (std::isnan(steps[i])) throw BadInput(StrCat("the planner's ", table[i].name, " is no number"));
    table[i].set(planner, table[i].At(steps[i]));
  }
  return planner;
}

}  // namespace emplace
