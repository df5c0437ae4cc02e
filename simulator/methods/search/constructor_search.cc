#include "simulator/methods/search/constructor_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <utility>

#include "simulator/methods/lists/priority.h"
#include "simulator/methods/lists/upward_rank.h"

namespace emplace {
namespace {

struct Range {
  double low;
  double high;
};

// The passes of a generation, in the order in which they are begun: whether each is made on units of its own kind,
// which all of them share, or on those of the best so far. The first one makes the units while others have something to
// do.
constexpr std::array<bool, 8> kOnOtherUnits = {true, false, false, false, false, true, true, true};
// What is drawn is drawn by its logarithm, between these: how far parameters move in steps, those of a pass and those
// that say how ops join to units, and the inertia.
constexpr Range kSteps = {0.1, 3};
constexpr Range kStepsOfUnits = {3, 8};
constexpr Range kInertia = {0.02, 50};
// The chance of a pass to have other parameters, to have inertia, and to take units by placed ranks.
constexpr double kMoved = 0.8;
constexpr double kInert = 0.3;
constexpr double kByPlacedRanks = 0.5;
// The chance of each parameter to move where not all do.
constexpr double kFew = 0.1;
// As by the weights that are set by hand a unit goes where it finishes first. But how much later it finishes elsewhere
// is in shares of the longest path, which is the same for all units.
constexpr UnitFeatures kFirstFinish = {.finish_behind_path = -1};

// About the time to score a placement by its ranks.
constexpr double kScoreUsPerOp = 1.5;

double Drawn(const Range& range, Rng& rng) { return std::exp(rng.Uniform(std::log(range.low), std::log(range.high))); }

bool IsOfUnits(const PlannerParameter& parameter) {
  return parameter.name == "list.join" || parameter.name == "list.most_work" || parameter.name == "list.most_memory";
}
bool IsOfPass(const PlannerParameter& parameter) {
  return parameter.name == "list.alpha" || parameter.name.starts_with("scorer.");
}

// Moves the parameters for which `moves` holds, or a few of them.
template <typename Moves>
void MoveParameters(PlannerParameters& planner, Moves moves, const Range& range, Rng& rng) {
  const double steps = Drawn(range, rng);
  const double chance = rng.Uniform() < 0.5 ? 1 : kFew;
  for (const PlannerParameter& parameter : PlannerParameterTable()) {
    if (moves(parameter) && rng.Uniform() < chance)
      parameter.set(planner, parameter.Moved(parameter.get(planner), steps * rng.Normal()));
  }
}

}  // namespace

ConstructorSearch::ConstructorSearch(const ScheduleGraph& whole, uint64_t seed)
    : whole_(whole), rng_(seed), limits_(whole.task().sim.memory_bytes) {
  best_.planner.scorer = kFirstFinish;
}

WalkResult ConstructorSearch::From(const WalkResult& start, double until, SearchLimit& limit, ThreadTeam& team) {
  if (best_.found.entry.placement.empty() || start.entry.score < best_.found.entry.score) best_.found = start;
  scorers_.resize(static_cast<size_t>(team.size()));
  while (true) {
    size_t count = 0;
    while (count < kOnOtherUnits.size() && limit.Progress(static_cast<int64_t>(count)) < until) ++count;
    if (count == 0) return best_.found;
    MakePasses(count, until, limit, team);
    limit.Count(static_cast<int64_t>(count));
  }
}

void ConstructorSearch::MakePasses(size_t count, double until, const SearchLimit& limit, ThreadTeam& team) {
  const Rng rng = rng_.Fork("generation", generation_++);
  PlannerParameters other = best_.planner;
  Rng of_units = rng.Fork("units");
  if (best_.units) MoveParameters(other, IsOfUnits, kStepsOfUnits, of_units);
  std::shared_ptr<const UnitGraph> other_units;
  std::once_flag made;
  std::vector<Pass> passes(count);
  team.ForEach(count, [&](size_t thread, size_t i) {
    if (i > 0 && limit.Progress() >= until) return;
    try {
      passes[i] = DrawnPass(rng.Fork("pass", i));
      if (kOnOtherUnits[i] || !best_.units) {
        std::call_once(made, [&] { other_units = std::make_shared<const UnitGraph>(whole_, other.list.units); });
        passes[i].planner.list.units = other.list.units;
        passes[i].units = other_units;
      }
      Run(passes[i], rng.Fork("draws", i), limit, scorers_[thread]);
    } catch (const Stopped&) {  // It has found nothing.
    }
  });
  std::erase_if(passes, [](const Pass& pass) { return pass.found.entry.placement.empty(); });
  if (passes.empty()) return;
  Pass& found = *std::ranges::min_element(passes, {}, [](const Pass& pass) { return pass.found.entry.score; });
  if (found.found.entry.score.bytes_over > 0) limits_.Lower(found.used_bytes, found.peak_bytes);
  if (!best_.units) best_.units = found.units;
  if (found.found.entry.score < best_.found.entry.score) best_ = std::move(found);
}

ConstructorSearch::Pass ConstructorSearch::DrawnPass(Rng rng) const {
  Pass pass;
  pass.planner = best_.planner;
  pass.units = best_.units;
  pass.by_placed_ranks = rng.Uniform() < kByPlacedRanks;
  if (rng.Uniform() < kInert) pass.inertia = Drawn(kInertia, rng);
  if (rng.Uniform() < kMoved) MoveParameters(pass.planner, IsOfPass, kSteps, rng);
  return pass;
}

void ConstructorSearch::Run(Pass& pass, const Rng& rng, const SearchLimit& limit,
                            std::unique_ptr<PlacementScorer>& scorer) const {
  const PlacementTask& task = whole_.task();
  const ScheduleGraph& graph = pass.units->graph();
  const Placement before = pass.units->Coarsened(best_.found.entry.placement);
  const std::vector<OpIndex> by_rank =
      pass.by_placed_ranks ? ByPlacedUpwardRank(graph, before) : ByMeanUpwardRank(graph, pass.planner.list.alpha);
  UnitScorerOptions options = {.weights = pass.planner.scorer};
  if (pass.inertia > 0) {
    options.before = before;
    options.inertia = pass.inertia;
  }
  pass.used_bytes.resize(static_cast<size_t>(task.sim.num_devices));
  const Placement units = pass.units->Place(by_rank, limits_.room_bytes(), options, rng, pass.used_bytes);
  if (limit.Progress() + limit.Share(0, kScoreUsPerOp * task.sim.num_ops) > 1) return;
  Placement placement = pass.units->Expanded(units);
  auto priority = std::make_shared<const Priority>(ByUpwardRank(whole_, placement));
  if (!scorer) scorer = std::make_unique<PlacementScorer>(task);
  scorer->SetPriority(*priority);
  const SearchScore score = scorer->Score(placement);
  pass.peak_bytes.assign(scorer->peak_bytes().begin(), scorer->peak_bytes().end());
  pass.found = {{"list", std::move(placement), score, {}}, std::move(priority)};
}

}  // namespace emplace
