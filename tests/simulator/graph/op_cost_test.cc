#include "simulator/graph/op_cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/rng.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

std::map<std::string, double> RandomCosts(Rng& rng) {
  std::map<std::string, double> us;
  for (const char* kind : {"a100", "cpu", "k80", "v100"}) {
    if (rng.UniformInt(0, 1) == 1) us[kind] = static_cast<double>(rng.UniformInt(0, 9));
  }
  return us;
}

TEST(OpCost, KnowsTheKindsThatItWasGiven) {
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    const std::map<std::string, double> us = RandomCosts(rng);
    const OpCost cost = OpCost::ByKind(us);
    EXPECT_FALSE(cost.is_uniform());
    EXPECT_EQ(cost.by_kind(), us);
    for (const char* kind : {"", "a100", "b", "cpu", "k80", "v100", "z"}) {
      const auto found = us.find(kind);
      EXPECT_EQ(cost.On(kind), found == us.end() ? std::nullopt : std::optional<double>(found->second)) << kind;
    }
  }
}

TEST(OpCost, IsTheSameEverywhereWhereItIsUniform) {
  const OpCost cost = OpCost::Everywhere(7);
  EXPECT_TRUE(cost.is_uniform());
  EXPECT_EQ(cost.everywhere_us(), 7);
  EXPECT_EQ(cost.On("k80"), 7);
  EXPECT_TRUE(cost.kinds().empty());
  EXPECT_TRUE(cost.by_kind().empty());
}

TEST(OpCost, SharesTheNamesOfTheLastOneIfTheyAreTheSame) {
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    KindNames last;
    std::map<std::string, double> before;
    for (int op = 0; op < 8; ++op) {
      const std::map<std::string, double> us = RandomCosts(rng);
      const KindNames previous = last;
      const OpCost cost = OpCost::ByKind(std::vector<KindCost>(us.begin(), us.end()), last);
      EXPECT_EQ(cost.by_kind(), us);
      EXPECT_EQ(cost.shared_kinds(), last);
      const bool same =
          previous != nullptr && std::ranges::equal(before, us, {}, &std::pair<const std::string, double>::first,
                                                    &std::pair<const std::string, double>::first);
      EXPECT_EQ(last == previous, same);
      before = us;
    }
  }
}

}  // namespace
}  // namespace emplace
