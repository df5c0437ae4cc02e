#include "common/wire/messages/rank_codec.h"

#include <gtest/gtest.h>

#include "tests/common/wire/messages/random_messages.h"

namespace emplace {
namespace {

TEST(RankCodec, MessagesOfRanksRoundTrip) {
  Rng rng(9);
  for (int round = 0; round < 100; ++round) {
    const RankHello hello{static_cast<uint32_t>(rng.Next()), static_cast<uint32_t>(rng.Next()), RandomText(rng, 40),
                          rng.Next(), RandomText(rng, 20)};
    const auto got_hello = std::get<RankHello>(*DecodeRankMessage(Views(Encode(RankMessage(hello)))));
    EXPECT_EQ(got_hello.protocol, hello.protocol);
    EXPECT_EQ(got_hello.rank, hello.rank);
    EXPECT_EQ(got_hello.host, hello.host);
    EXPECT_EQ(got_hello.process, hello.process);
    EXPECT_EQ(got_hello.kernel, hello.kernel);

    const auto kind = static_cast<RankDataKind>(rng.UniformInt(0, 2));
    const RankData data = RandomRankData(rng, kind);
    const std::vector<Frame> frames = Encode(RankMessage(data));
    EXPECT_EQ(frames, Encode(LeaderMessage(data)));
    for (const RankData& got : {std::get<RankData>(*DecodeRankMessage(Views(frames))),
                                std::get<RankData>(*DecodeLeaderMessage(Views(frames)))}) {
      EXPECT_EQ(got.kind, data.kind);
      EXPECT_EQ(got.step, data.step);
      EXPECT_EQ(got.measuring, data.measuring);
      ExpectEqual(got.arrays, data.arrays);
    }

    const RankWelcome welcome = RandomRankWelcome(rng);
    const auto got_welcome = std::get<RankWelcome>(*DecodeLeaderMessage(Views(Encode(LeaderMessage(welcome)))));
    EXPECT_EQ(got_welcome.ranks, welcome.ranks);
    EXPECT_EQ(got_welcome.config_yaml, welcome.config_yaml);
    ExpectEqual(got_welcome.state, welcome.state);
    ASSERT_EQ(got_welcome.tasks.size(), welcome.tasks.size());
    for (size_t t = 0; t < welcome.tasks.size(); ++t) ExpectEqual(got_welcome.tasks[t], welcome.tasks[t]);
  }
  EXPECT_EQ(std::get<RankFailure>(*DecodeRankMessage(Views(Encode(RankMessage(RankFailure{"why"}))))).reason, "why");
  EXPECT_TRUE(std::holds_alternative<RankPing>(*DecodeLeaderMessage(Views(Encode(LeaderMessage(RankPing{}))))));
}

}  // namespace
}  // namespace emplace
