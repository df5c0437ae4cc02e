#include "simulator/methods/search/phase_choice.h"

#include "simulator/methods/lists/disciplines.h"
#include "simulator/methods/search/found_results.h"
#include "simulator/methods/search/portfolio.h"

namespace emplace {
namespace {

constexpr double kRunsToRankFirst = 2;  // What is needed to rank takes as long as a run.

int64_t RunsOfAllDisciplines() { return RunsToFindOrder("best"); }

}  // namespace

bool PhaseChoice::RanksFirst() const {
  return MayOrder() && Share(0, kRunsToRankFirst * plan_.phases.rank_us_per_op) < plan_.phases.most_share_to_rank;
}

bool PhaseChoice::FitsByOrder() const {
  return options_.seconds <= 0 || limit_.Progress() + Share(0, plan_.phases.fit_us_per_op) <= 1;
}

bool PhaseChoice::HasTimeToWalk() const {
  return limit_.Progress() + Share(0, LevelsUsPerOp(task_) + plan_.phases.space_us_per_op) < 1;
}

bool PhaseChoice::Orders() const {
  if (!MayOrder()) return false;
  const double share = Share(1, plan_.phases.rank_us_per_op) + ShareToOrderResult();  // The first walk's run, too.
  return share <= plan_.phases.most_share_to_order;
}

bool PhaseChoice::OrdersPortfolio(int64_t placements) const {
  const double us_per_op = static_cast<double>(placements) * plan_.phases.best_order_us_per_op;
  return Share(placements * RunsOfAllDisciplines(), us_per_op) <= plan_.phases.most_share_to_order;
}

bool PhaseChoice::Relieves(const SearchSpace& space) const {
  return plan_.relief != nullptr && !task_.HasMicrobatches() && !walks_.HasFewUnits(space) &&
         walks_.MovesPerUnit(space, 1) < plan_.phases.few_moves_to_relieve;
}

bool PhaseChoice::MovesColumns() const {
  return plan_.passes.front().mix.column > 0 &&
         Share(0, plan_.phases.columns_us_per_op) <= plan_.phases.most_share_for_columns;
}

// In a step of several micro-batches a contracted graph finds nothing better than data-parallel and mirrored moves.
std::optional<size_t> PhaseChoice::LevelToContract(const SearchSpace& space, std::optional<int64_t> scored) const {
  if (plan_.coarse == nullptr || task_.HasMicrobatches()) return std::nullopt;
  const size_t level = space.LevelWith(plan_.phases.most_coarse_groups);
  if (space.levels()[level].num_groups() > plan_.phases.most_ops_left * task_.sim.num_ops) return std::nullopt;
  // Runs of the placements, of the start of the walk, of a priority and of the result.
  const double share = Share(scored.value_or(0) + 5, scored ? plan_.phases.coarse_us_per_op : 0);
  return share > plan_.phases.most_share_for_coarse ? std::nullopt : std::optional(level);
}

bool PhaseChoice::Mirrors() const {
  // Runs of what the two walks begin from, ranked and at their starts, and of the result.
  const double share = Share(4 + kRunsToKeepFound + 1, plan_.phases.coarse_us_per_op);
  return share <= plan_.phases.most_share_for_coarse;
}

// The disciplines differ most in steps of several micro-batches.
int64_t PhaseChoice::RunsToOrderResult() const {
  return kRunsToKeepFound + (task_.HasMicrobatches() ? RunsOfAllDisciplines() : 1);
}

double PhaseChoice::OrderUsPerOp() const {
  return task_.HasMicrobatches() ? plan_.phases.best_order_us_per_op : plan_.phases.rank_us_per_op;
}

}  // namespace emplace
