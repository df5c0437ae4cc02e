#include "simulator/methods/random_method.h"

#include "common/error.h"
#include "common/rng.h"
#include "common/strings.h"
#include "simulator/environment/environment_config.h"
#include "simulator/environment/start_placement.h"
#include "simulator/methods/budgeted_search.h"

namespace emplace {

RandomMethod::RandomMethod(const MethodOptions& options) : budget_(options.budget), seed_(options.seed) {
  if (budget_ < 1) throw BadInput(StrCat("--budget is ", budget_, ", expected at least 1"));
}

MethodResult RandomMethod::Place(const PlacementTask& task) {
  Rng rng = Rng(seed_).Fork("random/" + task.name);
  BudgetedSearch search(task, budget_);
  std::vector<uint8_t> groups;
  while (search.runs_left() > 0) {
    StartPlacement(task, Start::kRandom, rng, groups);
    search.Simulate(groups);
  }
  return search.BestResult();
}

}  // namespace emplace
