// What all codecs promise of damaged messages, and of those of another kind.
#include <gtest/gtest.h>

#include "common/wire/messages/control_codec.h"
#include "common/wire/messages/rank_codec.h"
#include "common/wire/messages/trajectory_codec.h"
#include "tests/common/wire/messages/random_messages.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// Every kind of message once, as frames.
struct Sample {
  std::string name;
  std::vector<Frame> frames;
  bool trajectory = false;
};

std::vector<Sample> Samples(Rng& rng) {
  return {
      {"hello",
       Encode(ActorMessage(Hello{kProtocolVersion, "host/0", rng.Next(), {{7, rng.Next()}, {3, rng.Next()}}}))},
      {"heartbeat", Encode(ActorMessage(Heartbeat{RandomKey(rng), rng.Next(), rng.Next(), rng.Next()}))},
      {"request", Encode(ActorMessage(WeightsRequest{RandomKey(rng)}))},
      {"work request", Encode(ActorMessage(WorkRequest{RandomKey(rng), rng.Next(), rng.Next()}))},
      {"goodbye", Encode(ActorMessage(Goodbye{RandomKey(rng), rng.Next()}))},
      {"welcome", Encode(LearnerMessage(RandomWelcome(rng)))},
      {"weights", Encode(LearnerMessage(WeightsReply{rng.Next(), rng.Next(), RandomText(rng, 300)}))},
      {"work", Encode(LearnerMessage(Work{rng.Next(), rng.Next(), {4, 0, 7}}))},
      {"refusal", Encode(LearnerMessage(Refusal{"no"}))},
      {"stop", Encode(LearnerMessage(Stop{}))},
      {"notice", Encode(LearnerMessage(Notice{rng.Next(), rng.Next(), true, rng.Next()}))},
      {"measure request", Encode(LearnerMessage(MeasureRequest{rng.Next(), 3, {0, 1, 7}}))},
      {"measure reply", Encode(ActorMessage(MeasureReply{RandomKey(rng), rng.Next(), rng.Uniform()}))},
      {"rank hello", Encode(RankMessage(RankHello{kProtocolVersion, 2, "host", rng.Next(), "avx2"}))},
      {"rank failure", Encode(RankMessage(RankFailure{"why"}))},
      {"rank shards", Encode(RankMessage(RandomRankData(rng, RankDataKind::kShards)))},
      {"rank step", Encode(LeaderMessage(RandomRankData(rng, RankDataKind::kStep)))},
      {"rank welcome", Encode(LeaderMessage(RandomRankWelcome(rng)))},
      {"rank ping", Encode(LeaderMessage(RankPing{}))},
      {"trajectory", Encode(RandomTrajectory(rng, 5)), true},
  };
}

// Whatever the bytes, decoding returns, and what it returns is consistent in itself.
void DecodeAsEverything(const std::vector<Frame>& frames) {
  const std::vector<FrameView> views = Views(frames);
  if (const auto actor = DecodeActorMessage(views)) {
    if (const auto* hello = std::get_if<Hello>(&*actor)) {
      EXPECT_LE(hello->name.size(), kMaxTextBytes);
    }
  }
  if (const auto learner = DecodeLearnerMessage(views)) {
    if (const auto* welcome = std::get_if<Welcome>(&*learner)) {
      size_t arrays = 0;
      for (const ArrayBundle& task : welcome->tasks) {
        for (const NamedArray& array : task.arrays()) {
          EXPECT_EQ(array.bytes.size() % SizeOf(array.type), 0U);
          ++arrays;
        }
      }
      EXPECT_EQ(arrays + welcome->graphs.size() + 2, frames.size());
    }
  }
  if (const auto rank = DecodeRankMessage(views)) {
    if (const auto* data = std::get_if<RankData>(&*rank)) {
      EXPECT_EQ(data->arrays.arrays().size() + 1, frames.size());
    }
  }
  if (const auto leader = DecodeLeaderMessage(views)) {
    if (const auto* data = std::get_if<RankData>(&*leader)) {
      EXPECT_LE(data->kind, RankDataKind::kSum);
    }
  }
  if (const auto trajectory = DecodeTrajectory(views)) {
    const size_t steps = trajectory->actions.size();
    EXPECT_TRUE(trajectory->start_placement.empty() || trajectory->start_placement.size() == steps);
    EXPECT_EQ(trajectory->behaviour_log_prob.size(), steps);
    EXPECT_TRUE(trajectory->rho.size() == 1 || trajectory->rho.size() == steps + 1);
  }
}

TEST(CodecDamage, AMessageOfAnotherKindIsRefused) {
  Rng rng(5);
  for (const Sample& sample : Samples(rng)) {
    const auto views = Views(sample.frames);
    const int accepted =
        (DecodeActorMessage(views) ? 1 : 0) + (DecodeLearnerMessage(views) ? 1 : 0) + (DecodeTrajectory(views) ? 1 : 0);
    const bool of_ranks = sample.name.starts_with("rank");
    EXPECT_EQ(accepted, of_ranks ? 0 : 1) << sample.name;
    // Leaders refuse and stop as learners do; otherwise ranks have messages of their own.
    const bool to_all = sample.name == "refusal" || sample.name == "stop";
    EXPECT_EQ(DecodeRankMessage(views) || DecodeLeaderMessage(views), of_ranks || to_all) << sample.name;
  }
}

TEST(CodecDamage, TruncationIsRefusedOrConsistent) {
  Rng rng(6);
  for (const Sample& sample : Samples(rng)) {
    for (size_t f = 0; f < sample.frames.size(); ++f) {
      for (size_t size = 0; size < sample.frames[f].size(); ++size) {
        std::vector<Frame> cut = sample.frames;
        cut[f].resize(size);
        DecodeAsEverything(cut);
        if (sample.trajectory) {
          // One without a start placement, or with a rho of the end alone, is a trajectory too.
          const bool legal = (f == 1 && size == 0) || (f == 4 && size == sizeof(float));
          EXPECT_EQ(DecodeTrajectory(Views(cut)).has_value(), legal) << "frame " << f << " of " << size << " bytes";
        }
      }
      std::vector<Frame> fewer = sample.frames;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(f));
      DecodeAsEverything(fewer);
      std::vector<Frame> more = sample.frames;
      more.insert(more.begin() + static_cast<std::ptrdiff_t>(f), sample.frames[f]);
      DecodeAsEverything(more);
      if (sample.trajectory) {
        EXPECT_FALSE(DecodeTrajectory(Views(fewer)).has_value());
        EXPECT_FALSE(DecodeTrajectory(Views(more)).has_value());
      }
    }
  }
  DecodeAsEverything({});
  DecodeAsEverything({""});
}

TEST(CodecDamage, EveryFlippedBitIsSurvived) {
  Rng rng(7);
  // Under a sanitizer every seventh, which are bits of every place in a byte.
  const size_t step = kSanitized ? 7 : 1;
  for (const Sample& sample : Samples(rng)) {
    for (size_t f = 0; f < sample.frames.size(); ++f) {
      for (size_t bit = 0; bit < 8 * sample.frames[f].size(); bit += step) {
        std::vector<Frame> flipped = sample.frames;
        flipped[f][bit / 8] = static_cast<char>(flipped[f][bit / 8] ^ (1 << (bit % 8)));
        DecodeAsEverything(flipped);
      }
    }
  }
}

TEST(CodecDamage, RandomDamageIsSurvived) {
  Rng rng(8);
  for (uint64_t round = 0; round < Trials(20000); ++round) {
    std::vector<Sample> samples = Samples(rng);
    Sample& sample = samples[static_cast<size_t>(rng.UniformInt(0, std::ssize(samples) - 1))];
    Frame& header = sample.frames[0];
    for (int64_t i = rng.UniformInt(1, 6); i > 0; --i) {
      header[static_cast<size_t>(rng.UniformInt(0, std::ssize(header) - 1))] = static_cast<char>(rng.Next());
    }
    DecodeAsEverything(sample.frames);
  }
}

}  // namespace
}  // namespace emplace
