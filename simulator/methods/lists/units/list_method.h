// `list`: the constructor that searches begin with. It joins ops to units (list_units.h), takes units by decreasing
// upward rank, in which transfers count `alpha` times, since where they will go is not known yet, and puts each on the
// device where it ends first, in gaps of its schedule too, or on one by a score (unit_scorer.h). A unit of parameters
// goes where it is read first. Further passes take the units by the ranks of the placement before. On graphs of up to
// 20,000 ops all of this is done with single ops, too. The best placement counts; it runs by its upward ranks where
// that is faster.
#pragma once

#include <cstdint>

#include "common/config/field_table.h"
#include "simulator/methods/lists/units/list_units.h"
#include "simulator/methods/placement_method.h"
#include "simulator/methods/planner_parameters.h"

namespace emplace {

struct ListOptions {
  double alpha = ListParameters().alpha;
  double join = UnitLimits().send_over_compute;
  double most_work = UnitLimits().most_work;
  int64_t passes = 0;      // 0: by the size of the graph.
  double temperature = 0;  // As of UnitScorerOptions.
};

class ListMethod : public PlacementMethod {
 public:
  static FieldTable<ListOptions> Options();

  explicit ListMethod(const MethodOptions& options);
  bool draws() const override { return own_.temperature > 0; }
  MethodResult Place(const PlacementTask& task) override;

 private:
  const PlannerParameters planner_;
  const ListOptions own_;
  const bool orders_;
  const uint64_t seed_;
  const StopSignal stop_;
};

}  // namespace emplace
