// The interface of the ways to place a graph; each method is a class in a file of its own. To add one, derive from
// PlacementMethod and add it to the table in placement_method.cc. The commands, the Python package and the C++ library
// then know its name, and the options that it alone has.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/config/field_table.h"
#include "common/threads/stop.h"
#include "simulator/graph/placement.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// What a placement is to minimize.
enum class Objective {
  kLatency,     // The time of one step on its own, the makespan.
  kThroughput,  // The time from one step to the next in a pipeline of steps: the load of the busiest device
                // (max_load.h).
};

std::vector<std::string> ObjectiveNames();  // latency, throughput
// Throws BadInput for an unknown name.
Objective ObjectiveNamed(const std::string& name);

class PlacementMethod;
struct PlannerParameters;  // planner_parameters.h

// How far a search is.
struct SearchProgress {
  double seconds = 0;
  int64_t evaluations = 0;
  double best_us = 0;    // Least so far of what is to be minimized: makespan, or load of the busiest device.
  bool fits = true;      // Whether that placement fits the memory.
  std::string found_by;  // What found it.
};

struct MethodOptions {
  int64_t budget = 100;  // Placements that a searching method may simulate; 0: any number.
  double seconds = 0;    // Time that a searching method may take; 0: any time.
  // When that time began; nullopt: it begins when the method places.
  std::optional<StopSignal::Clock::time_point> begin = std::nullopt;
  uint64_t seed = 1;
  // Values of options that some methods alone have (OwnOptions), by name, as SetOwnOptions sets them. A method takes
  // its own out of them by its table (FieldTable::Filled).
  std::map<std::string, ConfigField::Value> own = {};
  // What `list` and `auto` go by, where `own` says nothing else; null: what is set by hand.
  std::shared_ptr<const PlannerParameters> planner = nullptr;
  // Makes the method `policy`, which searches ask for a placement. Policies lie above this folder, so
  // policy/placer/policy_method.h hands it in; empty: there is no policy. With `planner` the policy plans: it decides
  // how `list` and `auto` go on; otherwise it places groups.
  std::function<std::unique_ptr<PlacementMethod>(const MethodOptions&)> make_policy = {};
  bool PolicyPlacesGroups() const { return make_policy && !planner; }
  bool orders = true;      // Whether the result may have an order.
  std::string order = {};  // In which the result will run, whatever order it has: one of OrderNames (disciplines.h).
  Objective objective = Objective::kLatency;  // What CanMinimize allows.
  int threads = 1;  // Of a searching method at most; with a budget, results do not depend on it.
  // Ends a method early. One that searches, or has a placement already, returns the best result so far.
  StopSignal stop = {};
  std::function<void(const SearchProgress&)> progress = nullptr;  // Called by long searches now and then.
};

struct MethodResult {
  // nullopt: the method found no legal placement, for example because no single device may run an op.
  std::optional<Placement> placement;
  int64_t evaluations = 0;  // Number of simulator runs.
  // The simulated score of the placement without orders, if the method knows it.
  std::optional<SearchScore> score = std::nullopt;
  std::string found_by = {};  // The method of a portfolio that found the placement; empty: the method itself.
  // The order in which devices run their ops, and the discipline that made it (disciplines.h); empty: none.
  DeviceOrders orders = {};
  std::string discipline = "";
};

// Not thread-safe: each thread needs its own object.
class PlacementMethod {
 public:
  virtual ~PlacementMethod() = default;
  // Whether the placement may depend on the seed.
  virtual bool draws() const { return false; }
  // Whether it goes on until its budget or time is over, or until it is told to stop.
  virtual bool searches() const { return false; }
  // Whether it places PlacementTask::groups as a policy does, so that their cuts matter.
  virtual bool places_groups() const { return false; }
  // Deterministic in (task, options) unless it is stopped, or has a time. Throws Stopped where it is stopped before it
  // has a result. A placement that fits every device's memory beats any that does not.
  virtual MethodResult Place(const PlacementTask& task) = 0;
};

// Throws BadInput for an unknown name (listing the known ones), for `policy` without a policy, and for an objective
// that the method does not know.
std::unique_ptr<PlacementMethod> MakeMethod(const std::string& name, const MethodOptions& options);
std::vector<std::string> MethodNames();
// An option that some methods alone have, beside MethodOptions.
struct OwnOption {
  ConfigField field;
  ConfigField::Value value;          // That of a method that is told nothing.
  std::vector<std::string> methods;  // Those that have it.
};
// Those of all methods, each name once, in lower case with underscores. What offers methods to a user offers these, by
// their names; flags have dashes in place of underscores.
std::vector<OwnOption> OwnOptions();
// Sets options.own to what these texts, by option, say to methods of these names. Throws BadInput for an option that
// none of them has, and for a value that is not allowed.
void SetOwnOptions(const std::map<std::string, std::string>& texts, const std::vector<std::string>& methods,
                   MethodOptions& options);

// Whether the method of that name can minimize this.
bool CanMinimize(const std::string& method, Objective objective);
// Throws BadInput unless a searching method has a budget or a time, and neither is negative.
void CheckSearchLimits(const MethodOptions& options);

// What methods have in common that search until their budget or time is over.
class SearchingMethod : public PlacementMethod {
 public:
  explicit SearchingMethod(const MethodOptions& options) : options_(options) { CheckSearchLimits(options); }
  bool draws() const override { return true; }
  bool searches() const override { return true; }

 protected:
  const MethodOptions options_;
};

// The simulated result of a method's placement. All printed figures come from here.
struct MethodScore {
  double makespan_us = 0;           // Infinity if there is no placement.
  double max_load_us = 0;           // Of the busiest device (max_load.h); infinity if there is no placement.
  std::vector<int64_t> peak_bytes;  // [D]; empty if there is no placement.
  bool feasible = false;            // There is a placement and every device's peak fits its memory.

  // What the objective minimizes.
  double Us(Objective objective) const { return objective == Objective::kLatency ? makespan_us : max_load_us; }
};
MethodScore Score(const PlacementTask& task, const MethodResult& result);

}  // namespace emplace
