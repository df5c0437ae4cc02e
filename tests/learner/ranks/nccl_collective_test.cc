// NCCL with the only GPU that there is. Skips itself, and says so, where there is none.
#include "learner/ranks/nccl_collective.h"

#include <gtest/gtest.h>

#include "common/error.h"
#include "policy/models.h"
#include "policy/placeto/placeto_shape.h"

namespace emplace {
namespace {

TEST(NcclCollective, OneRankKeepsWhatItHas) {
  const std::string why_not = WhyNoGpu(PlacetoShape{});
  if (!why_not.empty()) GTEST_SKIP() << "no GPU to test on: " << why_not;
  NcclCollective::Options options;
  options.ranks = 1;
  options.limit_s = 60;
  NcclCollective collective(options, NewNcclId());
  ShardSums sums(2, 1, 3);
  for (int64_t shard = 0; shard < 2; ++shard) sums.row(shard)[1] = static_cast<float>(shard + 1);
  sums.AddOwn(0);
  collective.GatherShards(sums);
  sums.AddAll();
  collective.Broadcast(sums.total());
  EXPECT_EQ(sums.total()[1], 3);
}

TEST(NcclCollective, WhatIsNoIdIsRefused) { EXPECT_THROW(NcclCollective({}, NcclId(5)), Error); }

}  // namespace
}  // namespace emplace
