#include "simulator/methods/groups/local_search_method.h"

#include "common/rng.h"
#include "simulator/environment/environment_config.h"
#include "simulator/environment/start_placement.h"
#include "simulator/methods/groups/budgeted_search.h"
#include "simulator/methods/groups/placement_moves.h"

namespace emplace {
namespace {

// A descent ends after so many moves a group that were no better: most single moves have been tried by then.
constexpr int64_t kPatiencePerGroup = 6;

}  // namespace

MethodResult LocalSearchMethod::Place(const PlacementTask& task) {
  Rng rng = Rng(options_.seed).Fork("local-search/" + task.name);
  BudgetedSearch search(task, options_);
  const PlacementMoves moves(task.groups);
  const int64_t patience = kPatiencePerGroup * task.groups.num_groups * (task.groups.num_devices - 1);
  std::vector<uint8_t> current;
  std::vector<uint8_t> next;
  for (Start start = Start::kSingle; !search.Ended(); start = Start::kRandom) {
    StartPlacement(task, start, rng, current);
    SearchScore score = search.Simulate(current);
    if (!moves.any()) break;
    for (int64_t in_vain = 0; in_vain < patience && !search.Ended(); ++in_vain) {
      next = current;
      moves.Apply(rng, next);
      const SearchScore next_score = search.Simulate(next);
      if (!(next_score < score)) continue;
      score = next_score;
      current.swap(next);
      in_vain = -1;
    }
  }
  return search.BestResult();
}

}  // namespace emplace
