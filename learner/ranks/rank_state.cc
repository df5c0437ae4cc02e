#include "learner/ranks/rank_state.h"

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr char kPolicy[] = "policy";
constexpr char kAdamSteps[] = "adam.steps";
constexpr char kAdamMean[] = "adam.mean";
constexpr char kAdamVariance[] = "adam.variance";
constexpr char kNcclId[] = "nccl_id";

}  // namespace

ArrayBundle ToBundle(const RankState& state) {
  ArrayBundle bundle;
  bundle.PutText(kPolicy, SerializePolicy(state.weights));
  bundle.Put(kAdamSteps, std::vector<int64_t>{state.adam.steps});
  bundle.Put(kAdamMean, state.adam.mean);
  bundle.Put(kAdamVariance, state.adam.variance);
  bundle.Put(kNcclId, state.nccl_id);
  return bundle;
}

RankState RankStateFromBundle(const ArrayBundle& bundle) {
  RankState state;
  state.weights = ParsePolicy(bundle.GetText(kPolicy), "the leader's policy");
  const std::vector<int64_t> steps = bundle.Get<int64_t>(kAdamSteps);
  state.adam.mean = bundle.Get<float>(kAdamMean);
  state.adam.variance = bundle.Get<float>(kAdamVariance);
  const size_t parameters = state.weights.values.size();
  if (steps.size() != 1 || steps[0] < 0 || state.adam.mean.size() != parameters ||
      state.adam.variance.size() != parameters) {
    throw BadInput(StrCat("the leader's optimizer state does not fit its policy of ", parameters, " parameters"));
  }
  state.adam.steps = steps[0];
  state.nccl_id = bundle.Get<uint8_t>(kNcclId);
  return state;
}

}  // namespace emplace
