#include "policy/trials/trial_runner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "policy/gaussian.h"
#include "policy/policy_kinds.h"

namespace emplace {
namespace {

class CandidateTest : public testing::Test {
 protected:
  CandidateTest() {
    config_.policy.kind = "planner";
    const PolicyKind& kind = FindPolicyKind("planner");
    weights_.shape = kind.Shape(config_.policy, 0);
    weights_.values = kind.InitialValues(weights_.shape, config_.policy, Rng(1));
    for (size_t i = 0; i < n(); ++i) weights_.values[i] = 0.25F * static_cast<float>(i);
  }

  size_t n() const { return Gaussian(weights_).mean.size(); }
  std::vector<float> Candidate(int64_t number) const { return CandidateOf(weights_, config_, number); }

  RunConfig config_;
  PolicyWeights weights_;
};

TEST_F(CandidateTest, SeedVersionAndNumberDecideIt) {
  for (const EvolutionAlgorithm algorithm : {EvolutionAlgorithm::kCma, EvolutionAlgorithm::kOpenAi}) {
    config_.evolution.algorithm = algorithm;
    const std::vector<float> first = Candidate(5);
    EXPECT_EQ(Candidate(5), first);
    std::set<std::vector<float>> different = {first, Candidate(0), Candidate(1), Candidate(2), Candidate(4)};
    weights_.version += 1;
    different.insert(Candidate(5));
    config_.seed += 1;
    different.insert(Candidate(5));
    EXPECT_EQ(different.size(), 7U);
    config_.seed -= 1;
    weights_.version -= 1;
  }
}

TEST_F(CandidateTest, MirroredOnesAreOnOppositeSidesOfTheMean) {
  config_.evolution.algorithm = EvolutionAlgorithm::kOpenAi;
  for (int64_t pair = 0; pair < 3; ++pair) {
    const std::vector<float> plus = Candidate(2 * pair);
    const std::vector<float> minus = Candidate(2 * pair + 1);
    for (size_t i = 0; i < n(); ++i) {
      const float mean = weights_.values[i];
      EXPECT_NEAR(plus[i] - mean, mean - minus[i], 1e-5F);
      EXPECT_GT(std::abs(plus[i] - mean), 0);
    }
  }
}

}  // namespace
}  // namespace emplace
