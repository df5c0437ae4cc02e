#include "simulator/methods/search/portfolio_search.h"

#include "simulator/methods/search/pass.h"
#include "simulator/methods/search/portfolio.h"

namespace emplace {

MethodResult SearchFromPortfolio(const PlacementTask& task, const MethodOptions& options,
                                 std::span<const PassPlan> passes, const std::string& found_by) {
  SearchLimit limit(options.budget, options.seconds, options.stop);
  ThreadTeam team(options.threads);
  const std::vector<PortfolioEntry> portfolio = MakePortfolio(task, options, limit, team);
  MethodResult result;
  result.evaluations = limit.evaluations();
  if (portfolio.empty()) return result;
  const PortfolioEntry& start = portfolio.front();
  result.placement = start.placement;
  result.found_by = start.found_by;
  const SearchSpace space(task);
  if (!space.any() || limit.Progress() >= 1) return result;

  Walk walk(space, limit, team, options.seed);
  if (options.progress) {
    walk.ReportTo([&] {
      const bool improved = walk.best_score() < start.score;
      options.progress(
          {limit.seconds(), limit.evaluations(), walk.best_score().makespan_us, improved ? found_by : start.found_by});
    });
  }
  walk.Start(start.placement);
  const double begin = limit.Progress();
  for (size_t i = 0; i < passes.size(); ++i) {
    const double done = static_cast<double>(i + 1) / static_cast<double>(passes.size());
    RunPass(walk, space, limit,
            {.finest = space.LevelWith(passes[i].most_groups),
             .mix = passes[i].mix,
             .hot = passes[i].hot,
             .cold = passes[i].cold,
             .until = begin + (1 - begin) * done});
  }
  result.evaluations = limit.evaluations();
  if (walk.best_score() < start.score) {
    result.placement = walk.best();
    result.found_by = found_by;
  }
  return result;
}

}  // namespace emplace
