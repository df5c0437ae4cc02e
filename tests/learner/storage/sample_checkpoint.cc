#include "tests/learner/storage/sample_checkpoint.h"

#include "common/files/safetensors.h"
#include "common/rng.h"
#include "tests/learner/episodes.h"

namespace emplace {

Checkpoint SampleCheckpoint(int64_t updates) {
  Rng rng(static_cast<uint64_t>(updates));
  Checkpoint checkpoint;
  checkpoint.policy = SmallPolicy(rng.Next(), static_cast<PolicyVersion>(updates));
  checkpoint.policy.metadata["grouping.max_groups"] = "128";
  checkpoint.updater.adam.steps = updates - 1;
  for (size_t i = 0; i < checkpoint.policy.values.size(); ++i) {
    checkpoint.updater.adam.mean.push_back(static_cast<float>(rng.Normal()));
    checkpoint.updater.adam.variance.push_back(static_cast<float>(rng.Uniform()));
  }
  checkpoint.updater.objective.tensors = {SafetensorsTensor::Of<float>("returns", {3}, std::vector<float>{1, 2, 0.1F}),
                                          SafetensorsTensor::Of<double>("weight", {1}, std::vector{0.1 / 3}),
                                          SafetensorsTensor::Of<uint8_t>("none", {0}, std::vector<uint8_t>{})};
  checkpoint.rng_seed = 0xFFFFFFFFFFFFFFFFU;
  checkpoint.rng_state = {rng.Next(), rng.Next(), rng.Next(), rng.Next()};
  checkpoint.updates = updates;
  checkpoint.train_seconds = 0.1 * static_cast<double>(updates);
  checkpoint.best_validation = 1.0 / 3;
  checkpoint.validation_history = {0.9, 2.0 / 3};
  checkpoint.ledger_json = "{\"total\": {}}";
  checkpoint.kernel_path = "avx2";
  checkpoint.graphs_hash = "0123456789abcdef";
  checkpoint.conditions_hash = "fedcba9876543210";
  checkpoint.config_yaml = "name: \"x\"\n";
  return checkpoint;
}

}  // namespace emplace
