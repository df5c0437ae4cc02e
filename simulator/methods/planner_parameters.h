// What can be learned of the planner, that is of the methods `list` and `auto`, and what is set by hand in its place.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "simulator/methods/lists/units/list_units.h"
#include "simulator/methods/lists/units/unit_features.h"
#include "simulator/methods/search/search_plan.h"

namespace emplace {

// Of `list`.
struct ListParameters {
  double alpha = 2;  // How many times mean transfers count in ranks.
  UnitLimits units;
};

// Temperatures between which a walk cools down, as of PassPlan.
struct WalkHeat {
  double hot = 0.002;
  double cold = 0.00002;
  double most_heat = 10;
};

// Of the search of `auto`. What each was measured against: docs/design-search.md.
struct SearchParameters {
  // The first walk, without orders, moves families, columns and single groups alone, but where there are few units.
  MoveMix mix = {.family = 0.3, .neighbours = 0.15, .swap = 0.15, .column = 0.8, .window = 0.3, .relief = 0.3};
  WalkHeat first;
  WalkHeat ordered;
  WalkHeat coarse = {.cold = 0.00008};  // It leaves the small differences to the whole graph.
  double warmer_end_on_two = 5;         // Of the first walk, as of PassPlan.
  int32_t few_units = 500;              // Both as of FewUnits.
  double few_units_hot = 1.5;
  PhaseRules phases;
};

// The defaults are what is set by hand.
struct PlannerParameters {
  UnitFeatures scorer = kHandSetWeights;
  ListParameters list;
  SearchParameters search;
};

// One number of PlannerParameters.
struct PlannerParameter {
  enum class Scale : uint8_t { kLinear, kLog };

  std::string name;  // "scorer.finish_behind", "list.alpha", "search.coarse_share"
  double start = 0;  // Set by hand.
  double low = 0;    // Least and greatest value.
  double high = 0;
  Scale scale = Scale::kLinear;
  double step = 0;  // How far one step goes: added to the value, or on the logarithmic scale to its logarithm.
  std::function<double(const PlannerParameters&)> get = {};
  std::function<void(PlannerParameters&, double)> set = {};

  // The value so many steps from the start, or from another value, within the range.
  double At(double steps) const { return Moved(start, steps); }
  double Moved(double value, double steps) const;
};

// All of them. A policy's file keeps them by their places: lines are only added at the end.
const std::vector<PlannerParameter>& PlannerParameterTable();
// Each parameter so many steps from its start. steps: one for each line of the table; all 0: the defaults. Throws
// BadInput for another number of them, and for one that is no number.
PlannerParameters PlannerAt(std::span<const double> steps);

}  // namespace emplace
