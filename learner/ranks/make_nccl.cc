#include "learner/ranks/make_nccl.h"

#include "common/error.h"
#ifdef EMPLACE_CUDA
#include "learner/ranks/nccl_collective.h"
#endif

namespace emplace {

std::vector<uint8_t> NcclIdFor([[maybe_unused]] const TrainingConfig& config) {
#ifdef EMPLACE_CUDA
  if (config.ranks > 1 && config.device == LearnerDevice::kCuda) return NewNcclId();
#endif
  return {};
}

std::unique_ptr<Collective> MakeNccl([[maybe_unused]] const NcclRank& rank, const std::vector<uint8_t>& id) {
  if (id.empty()) return nullptr;
#ifdef EMPLACE_CUDA
  return std::make_unique<NcclCollective>(NcclCollective::Options{.rank = rank.rank,
                                                                  .ranks = rank.config.training.ranks,
                                                                  .gpu = rank.gpu,
                                                                  .limit_s = rank.config.learner.watchdog_s,
                                                                  .while_waiting = rank.check},
                                          id);
#else
  throw BadInput("the ranks are to meet in NCCL, and this build is without CUDA");
#endif
}

}  // namespace emplace
