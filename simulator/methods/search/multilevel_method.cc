#include "simulator/methods/search/multilevel_method.h"

#include <array>

#include "simulator/methods/search/portfolio_search.h"

namespace emplace {
namespace {

constexpr std::array<PassPlan, 2> kMultilevelPasses = {{
    {.most_groups = 4096, .mix = {}, .hot = 0.02, .cold = 0.0002},
    {.most_groups = 4096, .mix = {}, .hot = 0.005, .cold = 0.00005},
}};

}  // namespace

MethodResult MultilevelMethod::Place(const PlacementTask& task) {
  return SearchFromPortfolio(task, options_, {.passes = kMultilevelPasses, .found_by = "multilevel"});
}

}  // namespace emplace
