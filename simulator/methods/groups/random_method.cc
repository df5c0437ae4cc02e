#include "simulator/methods/groups/random_method.h"

#include "common/rng.h"
#include "simulator/environment/environment_config.h"
#include "simulator/environment/start_placement.h"
#include "simulator/methods/groups/budgeted_search.h"

namespace emplace {

MethodResult RandomMethod::Place(const PlacementTask& task) {
  Rng rng = Rng(options_.seed).Fork("random/" + task.name);
  BudgetedSearch search(task, options_);
  std::vector<uint8_t> groups;
  while (!search.Ended()) {
    StartPlacement(task, Start::kRandom, rng, groups);
    search.Simulate(groups);
  }
  return search.BestResult();
}

}  // namespace emplace
