#include "simulator/methods/placement_method.h"

#include <functional>
#include <limits>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/engine/simulator.h"
#include "simulator/methods/cpu_method.h"
#include "simulator/methods/exact/dp_method.h"
#include "simulator/methods/exact/max_load.h"
#include "simulator/methods/exact/optimal_method.h"
#include "simulator/methods/groups/annealing_method.h"
#include "simulator/methods/groups/data_parallel_method.h"
#include "simulator/methods/groups/expert_method.h"
#include "simulator/methods/groups/local_search_method.h"
#include "simulator/methods/groups/random_method.h"
#include "simulator/methods/groups/scotch_method.h"
#include "simulator/methods/lists/heft_method.h"
#include "simulator/methods/lists/m_etf_method.h"
#include "simulator/methods/lists/m_sct_method.h"
#include "simulator/methods/lists/m_topo_method.h"
#include "simulator/methods/search/auto_method.h"
#include "simulator/methods/search/multilevel_method.h"
#include "simulator/methods/single_method.h"

namespace emplace {
namespace {

struct MethodEntry {
  std::string name;
  std::function<std::unique_ptr<PlacementMethod>(const MethodOptions&)> make;
};

template <typename Method>
MethodEntry Entry(const std::string& name) {
  return {name, [](const MethodOptions& options) { return std::make_unique<Method>(options); }};
}

std::unique_ptr<PlacementMethod> MakePolicyMethod(const MethodOptions& options) {
  if (!options.make_policy) throw BadInput("method 'policy' needs --policy FILE");
  return options.make_policy(options);
}

std::vector<MethodEntry> Methods() {
  return {Entry<AutoMethod>("auto"),
          Entry<SingleMethod>("single"),
          Entry<CpuMethod>("cpu"),
          Entry<ExpertMethod>("expert"),
          Entry<DataParallelMethod>("data-parallel"),
          Entry<DpMethod>("dp"),
          Entry<ScotchMethod>("scotch"),
          Entry<HeftMethod>("heft"),
          Entry<MTopoMethod>("m-topo"),
          Entry<MEtfMethod>("m-etf"),
          Entry<MSctMethod>("m-sct"),
          Entry<RandomMethod>("random"),
          Entry<LocalSearchMethod>("local-search"),
          Entry<AnnealingMethod>("annealing"),
          Entry<MultilevelMethod>("multilevel"),
          Entry<OptimalMethod>("optimal"),
          {"policy", MakePolicyMethod}};
}

}  // namespace

std::vector<std::string> MethodNames() {
  std::vector<std::string> names;
  for (const MethodEntry& entry : Methods()) names.push_back(entry.name);
  return names;
}

std::vector<std::string> ObjectiveNames() { return {"latency", "throughput"}; }

Objective ObjectiveNamed(const std::string& name) {
  if (name == "latency") return Objective::kLatency;
  if (name == "throughput") return Objective::kThroughput;
  throw BadInput(StrCat("unknown objective '", name, "', expected one of: ", Join(ObjectiveNames(), ", ")));
}

bool CanMinimize(const std::string& method, Objective objective) {
  return objective == Objective::kLatency || method == "dp";
}

std::unique_ptr<PlacementMethod> MakeMethod(const std::string& name, const MethodOptions& options) {
  if (!CanMinimize(name, options.objective)) {
    throw BadInput(
        StrCat("method '", name, "' minimizes the latency alone, expected method dp for the objective ", "throughput"));
  }
  for (const MethodEntry& entry : Methods()) {
    if (entry.name == name) return entry.make(options);
  }
  throw BadInput(StrCat("unknown method '", name, "', expected one of: ", Join(MethodNames(), ", ")));
}

void CheckSearchLimits(const MethodOptions& options) {
  if (options.budget < 0) throw BadInput(StrCat("--budget is ", options.budget, ", expected at least 1"));
  if (!(options.seconds >= 0)) throw BadInput(StrCat("--seconds is ", options.seconds, ", expected a number above 0"));
  if (options.budget == 0 && options.seconds == 0)
    throw BadInput("neither --seconds nor --budget is given, expected one to end the search");
}

MethodScore Score(const PlacementTask& task, const MethodResult& result) {
  MethodScore score;
  if (!result.placement) {
    score.makespan_us = score.max_load_us = std::numeric_limits<double>::infinity();
    return score;
  }
  Simulator simulator(task.sim, result.orders);
  score.peak_bytes.resize(static_cast<size_t>(task.sim.num_devices));
  score.makespan_us = simulator.MakespanAndPeak(*result.placement, score.peak_bytes);
  score.max_load_us = MaxLoadUs(task.sim, *result.placement);
  score.feasible = task.sim.Fits(score.peak_bytes);
  return score;
}

}  // namespace emplace
