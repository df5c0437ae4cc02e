#include "simulator/methods/placement_method.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/engine/simulator.h"
#include "simulator/methods/cpu_method.h"
#include "simulator/methods/exact/dp_method.h"
#include "simulator/methods/exact/optimal_method.h"
#include "simulator/methods/groups/annealing_method.h"
#include "simulator/methods/groups/data_parallel_method.h"
#include "simulator/methods/groups/expert_method.h"
#include "simulator/methods/groups/knapsack_method.h"
#include "simulator/methods/groups/local_search_method.h"
#include "simulator/methods/groups/random_method.h"
#include "simulator/methods/groups/scotch_method.h"
#include "simulator/methods/lists/heft_method.h"
#include "simulator/methods/lists/m_etf_method.h"
#include "simulator/methods/lists/m_sct_method.h"
#include "simulator/methods/lists/m_topo_method.h"
#include "simulator/methods/lists/units/list_method.h"
#include "simulator/methods/max_load.h"
#include "simulator/methods/policy_method_options.h"
#include "simulator/methods/search/auto_method.h"
#include "simulator/methods/search/multilevel_method.h"
#include "simulator/methods/single_method.h"

namespace emplace {
namespace {

template <typename Section>
std::vector<OwnOption> OwnOptionsOf(const FieldTable<Section>& table, const std::string& method) {
  std::vector<OwnOption> options;
  const Section defaults;
  for (const ConfigField& field : table.fields())
    options.push_back({.field = field, .value = field.get(&defaults), .methods = {method}});
  return options;
}

struct MethodEntry {
  std::string name;
  std::function<std::unique_ptr<PlacementMethod>(const MethodOptions&)> make;
  std::vector<Objective> objectives = {Objective::kLatency};  // What it can minimize.
  std::vector<OwnOption> options = {};
};

// With its options, if it declares any: `static FieldTable<...> Options()`.
template <typename Method>
MethodEntry Entry(const std::string& name, const std::vector<Objective>& objectives = {Objective::kLatency}) {
  MethodEntry entry = {name, [](const MethodOptions& options) { return std::make_unique<Method>(options); },
                       objectives};
  if constexpr (requires { Method::Options(); }) entry.options = OwnOptionsOf(Method::Options(), name);
  return entry;
}

std::unique_ptr<PlacementMethod> MakePolicyMethod(const MethodOptions& options) {
  if (!options.make_policy) throw BadInput("method 'policy' has no policy, expected a policy file or a run directory");
  return options.make_policy(options);
}

// One that begins with a portfolio, and hands its members their options.
template <typename Method>
MethodEntry PortfolioEntryOf(const std::string& name,
                             const std::vector<Objective>& objectives = {Objective::kLatency}) {
  MethodEntry entry = Entry<Method>(name, objectives);
  entry.options = OwnOptionsOf(ListMethod::Options(), name);
  for (OwnOption& option : OwnOptionsOf(PolicyMethodOptions::Table(), name)) entry.options.push_back(std::move(option));
  return entry;
}

const std::vector<MethodEntry>& Methods() {
  static const std::vector<MethodEntry> methods = {
      PortfolioEntryOf<AutoMethod>("auto", {Objective::kLatency, Objective::kThroughput}),
      Entry<SingleMethod>("single"),
      Entry<CpuMethod>("cpu"),
      Entry<ExpertMethod>("expert"),
      Entry<KnapsackMethod>("knapsack"),
      Entry<DataParallelMethod>("data-parallel"),
      Entry<DpMethod>("dp", {Objective::kLatency, Objective::kThroughput}),
      Entry<ScotchMethod>("scotch"),
      Entry<ListMethod>("list"),
      Entry<HeftMethod>("heft"),
      Entry<MTopoMethod>("m-topo"),
      Entry<MEtfMethod>("m-etf"),
      Entry<MSctMethod>("m-sct"),
      Entry<RandomMethod>("random"),
      Entry<LocalSearchMethod>("local-search"),
      Entry<AnnealingMethod>("annealing"),
      PortfolioEntryOf<MultilevelMethod>("multilevel"),
      Entry<OptimalMethod>("optimal"),
      {.name = "policy", .make = MakePolicyMethod, .options = OwnOptionsOf(PolicyMethodOptions::Table(), "policy")}};
  return methods;
}

// Throws BadInput where there is none of that name.
const MethodEntry& MethodNamed(const std::string& name) {
  for (const MethodEntry& entry : Methods()) {
    if (entry.name == name) return entry;
  }
  throw BadInput(StrCat("unknown method '", name, "', expected one of: ", Join(MethodNames(), ", ")));
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
  const std::vector<Objective>& objectives = MethodNamed(method).objectives;
  return std::ranges::find(objectives, objective) != objectives.end();
}

std::unique_ptr<PlacementMethod> MakeMethod(const std::string& name, const MethodOptions& options) {
  if (!CanMinimize(name, options.objective)) {
    std::vector<std::string> able;
    for (const std::string& other : MethodNames()) {
      if (CanMinimize(other, options.objective)) able.push_back(other);
    }
    throw BadInput(StrCat("method '", name, "' minimizes the latency alone, expected ", Join(able, " or "),
                          " for the objective throughput"));
  }
  return MethodNamed(name).make(options);
}

std::vector<OwnOption> OwnOptions() {
  std::vector<OwnOption> options;
  for (const MethodEntry& entry : Methods()) {
    for (const OwnOption& option : entry.options) {
      const auto same = std::ranges::find(options, option.field.name, [](const OwnOption& o) { return o.field.name; });
      if (same == options.end()) {
        options.push_back(option);
      } else {
        same->methods.push_back(entry.name);
      }
    }
  }
  return options;
}

void SetOwnOptions(const std::map<std::string, std::string>& texts, const std::vector<std::string>& methods,
                   MethodOptions& options) {
  const std::vector<OwnOption> all = OwnOptions();
  for (const auto& [name, text] : texts) {
    const auto option = std::ranges::find(all, name, [](const OwnOption& o) { return o.field.name; });
    if (option == all.end()) {
      std::vector<std::string> names;
      for (const OwnOption& known : all) names.push_back(known.field.name);
      throw BadInput(StrCat("unknown option '", name, "' of a method", DidYouMean(name, names)));
    }
    if (std::ranges::find_first_of(methods, option->methods) == methods.end()) {
      throw BadInput(StrCat("option '", name, "' is given to method ", Join(methods, ", "), ", expected method ",
                            Join(option->methods, " or ")));
    }
    options.own[name] = option->field.Parse(text, option->value);
  }
}

void CheckSearchLimits(const MethodOptions& options) {
  if (options.budget < 0) throw BadInput(StrCat("budget is ", options.budget, ", expected at least 0"));
  if (!(options.seconds >= 0)) throw BadInput(StrCat("seconds is ", options.seconds, ", expected at least 0"));
  if (options.budget == 0 && options.seconds == 0)
    throw BadInput("neither seconds nor budget is given, expected one to end the search");
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
