#include "common/wire/codec.h"

#include <gtest/gtest.h>

#include "common/rng.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

std::vector<FrameView> Views(const std::vector<Frame>& frames) {
  std::vector<FrameView> views;
  for (const Frame& frame : frames) {
    views.emplace_back(reinterpret_cast<const uint8_t*>(frame.data()), frame.size());
  }
  return views;
}

std::string RandomText(Rng& rng, int64_t longest) {
  std::string text(static_cast<size_t>(rng.UniformInt(0, longest)), '\0');
  for (char& c : text) c = static_cast<char>(rng.UniformInt(0, 255));
  return text;
}

ActorKey RandomKey(Rng& rng) { return {static_cast<uint32_t>(rng.Next()), static_cast<uint32_t>(rng.Next())}; }

Trajectory RandomTrajectory(Rng& rng, size_t steps) {
  Trajectory trajectory;
  trajectory.graph = static_cast<GraphId>(rng.Next());
  trajectory.actor = RandomKey(rng);
  trajectory.sequence = rng.Next();
  trajectory.policy_version = rng.Next();
  trajectory.index = static_cast<uint32_t>(rng.Next());
  trajectory.claim = rng.UniformInt(0, 1) == 1 ? Claim::kMeasured : Claim::kSimulated;
  for (size_t t = 0; t < steps; ++t) {
    trajectory.start_placement.push_back(static_cast<uint8_t>(rng.Next()));
    trajectory.actions.push_back(static_cast<uint8_t>(rng.Next()));
    trajectory.behaviour_log_prob.push_back(static_cast<float>(rng.Normal()));
    trajectory.rho.push_back(static_cast<float>(rng.Normal()));
  }
  trajectory.rho.push_back(static_cast<float>(rng.Normal()));
  return trajectory;
}

Welcome RandomWelcome(Rng& rng) {
  Welcome welcome{RandomKey(rng), rng.Next(), rng.Next(), RandomText(rng, 500), RandomText(rng, 30), {}};
  welcome.tasks.resize(static_cast<size_t>(rng.UniformInt(0, 4)));
  for (ArrayBundle& task : welcome.tasks) {
    task.PutText("name", RandomText(rng, 20));
    task.Put("cost", std::vector<double>(static_cast<size_t>(rng.UniformInt(0, 20)), rng.Uniform()));
    task.Put("index", std::vector<int32_t>(static_cast<size_t>(rng.UniformInt(0, 20)), -7));
    task.Put("bytes", std::vector<int64_t>(static_cast<size_t>(rng.UniformInt(0, 20)), -1));
    task.Put("bits", std::vector<uint64_t>(static_cast<size_t>(rng.UniformInt(0, 20)), rng.Next()));
    task.Put("features", std::vector<float>(static_cast<size_t>(rng.UniformInt(0, 20)), 0.5F));
  }
  welcome.machine = RandomText(rng, 5000);
  welcome.graphs.resize(static_cast<size_t>(rng.UniformInt(0, 3)));
  for (std::string& graph : welcome.graphs) graph = RandomText(rng, 9000);
  return welcome;
}

RankData RandomRankData(Rng& rng, RankDataKind kind) {
  RankData data{.kind = kind, .step = rng.Next(), .arrays = {}, .measuring = rng.UniformInt(0, 1) == 1};
  data.arrays.Put("rows", std::vector<float>(static_cast<size_t>(rng.UniformInt(0, 20)), 0.5F));
  data.arrays.Put("losses", std::vector<double>(static_cast<size_t>(rng.UniformInt(0, 20)), rng.Uniform()));
  return data;
}

RankWelcome RandomRankWelcome(Rng& rng) {
  RankWelcome welcome{3, RandomText(rng, 500), {RandomRankData(rng, RankDataKind::kStep).arrays}, {}};
  welcome.state.PutText("policy", RandomText(rng, 100));
  return welcome;
}

void ExpectEqual(const ArrayBundle& a, const ArrayBundle& b) {
  ASSERT_EQ(a.arrays().size(), b.arrays().size());
  for (size_t i = 0; i < a.arrays().size(); ++i) {
    EXPECT_EQ(a.arrays()[i].name, b.arrays()[i].name);
    EXPECT_EQ(a.arrays()[i].type, b.arrays()[i].type);
    EXPECT_EQ(a.arrays()[i].bytes, b.arrays()[i].bytes);
  }
}

void ExpectEqual(const Trajectory& a, const Trajectory& b) {
  EXPECT_EQ(a.graph, b.graph);
  EXPECT_EQ(a.actor, b.actor);
  EXPECT_EQ(a.sequence, b.sequence);
  EXPECT_EQ(a.policy_version, b.policy_version);
  EXPECT_EQ(a.index, b.index);
  EXPECT_EQ(a.claim, b.claim);
  EXPECT_EQ(a.start_placement, b.start_placement);
  EXPECT_EQ(a.actions, b.actions);
  EXPECT_EQ(a.behaviour_log_prob, b.behaviour_log_prob);
  EXPECT_EQ(a.rho, b.rho);
}

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
      {"notice", Encode(LearnerMessage(Notice{rng.Next(), rng.Next(), true}))},
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

TEST(Codec, TrajectoriesRoundTrip) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    const Trajectory sent = RandomTrajectory(rng, static_cast<size_t>(rng.UniformInt(0, 300)));
    const std::optional<Trajectory> got = DecodeTrajectory(Views(Encode(sent)));
    ASSERT_TRUE(got.has_value());
    ExpectEqual(sent, *got);
  }
}

TEST(Codec, ATrajectoryIsCompact) {
  Rng rng(2);
  size_t bytes = 0;
  for (const Frame& frame : Encode(RandomTrajectory(rng, 128))) bytes += frame.size();
  // 128 devices twice, 128 log-probabilities, 129 values of rho; the header is 10 words of 8
  // bytes: segment table, root pointer, Message (2), Trajectory (5), ActorKey.
  EXPECT_EQ(bytes - 80, 128U + 128U + 4 * 128U + 4 * 129U);
}

TEST(Codec, WelcomesRoundTrip) {
  Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    const Welcome sent = RandomWelcome(rng);
    const std::optional<LearnerMessage> message = DecodeLearnerMessage(Views(Encode(LearnerMessage(sent))));
    ASSERT_TRUE(message.has_value());
    const Welcome& got = std::get<Welcome>(*message);
    EXPECT_EQ(got.actor, sent.actor);
    EXPECT_EQ(got.session, sent.session);
    EXPECT_EQ(got.first_sequence, sent.first_sequence);
    EXPECT_EQ(got.config_yaml, sent.config_yaml);
    EXPECT_EQ(got.trajectories_endpoint, sent.trajectories_endpoint);
    EXPECT_EQ(got.machine, sent.machine);
    EXPECT_EQ(got.graphs, sent.graphs);
    ASSERT_EQ(got.tasks.size(), sent.tasks.size());
    for (size_t t = 0; t < sent.tasks.size(); ++t) {
      const auto& arrays = sent.tasks[t].arrays();
      ASSERT_EQ(got.tasks[t].arrays().size(), arrays.size());
      for (size_t a = 0; a < arrays.size(); ++a) {
        EXPECT_EQ(got.tasks[t].arrays()[a].name, arrays[a].name);
        EXPECT_EQ(got.tasks[t].arrays()[a].type, arrays[a].type);
        EXPECT_EQ(got.tasks[t].arrays()[a].bytes, arrays[a].bytes);
      }
    }
  }
}

TEST(Codec, ControlMessagesRoundTrip) {
  Rng rng(4);
  for (int round = 0; round < 200; ++round) {
    const Hello hello{static_cast<uint32_t>(rng.Next()),
                      RandomText(rng, 40),
                      rng.Next(),
                      {{static_cast<uint32_t>(rng.Next()), rng.Next()}},
                      rng.UniformInt(0, 1) == 1};
    const auto got_hello = std::get<Hello>(*DecodeActorMessage(Views(Encode(ActorMessage(hello)))));
    EXPECT_EQ(got_hello.protocol, hello.protocol);
    EXPECT_EQ(got_hello.name, hello.name);
    EXPECT_EQ(got_hello.nonce, hello.nonce);
    ASSERT_EQ(got_hello.earlier.size(), 1U);
    EXPECT_EQ(got_hello.earlier[0].number, hello.earlier[0].number);
    EXPECT_EQ(got_hello.earlier[0].nonce, hello.earlier[0].nonce);
    EXPECT_EQ(got_hello.measures, hello.measures);

    const Heartbeat beat{RandomKey(rng), rng.Next(), rng.Next(), rng.Next(), rng.Next()};
    const auto got_beat = std::get<Heartbeat>(*DecodeActorMessage(Views(Encode(ActorMessage(beat)))));
    EXPECT_EQ(got_beat.actor, beat.actor);
    EXPECT_EQ(got_beat.session, beat.session);
    EXPECT_EQ(got_beat.produced, beat.produced);
    EXPECT_EQ(got_beat.version, beat.version);
    EXPECT_EQ(got_beat.window_us, beat.window_us);

    const WeightsRequest request{RandomKey(rng)};
    const auto got_request = std::get<WeightsRequest>(*DecodeActorMessage(Views(Encode(ActorMessage(request)))));
    EXPECT_EQ(got_request.actor, request.actor);

    const WorkRequest wanted{RandomKey(rng), rng.Next(), rng.Next()};
    const auto got_wanted = std::get<WorkRequest>(*DecodeActorMessage(Views(Encode(ActorMessage(wanted)))));
    EXPECT_EQ(got_wanted.actor, wanted.actor);
    EXPECT_EQ(got_wanted.session, wanted.session);
    EXPECT_EQ(got_wanted.version, wanted.version);

    const Work work{rng.Next(), rng.Next(), std::vector<uint32_t>(static_cast<size_t>(rng.UniformInt(0, 50)), 3)};
    const auto got_work = std::get<Work>(*DecodeLearnerMessage(Views(Encode(LearnerMessage(work)))));
    EXPECT_EQ(got_work.session, work.session);
    EXPECT_EQ(got_work.version, work.version);
    EXPECT_EQ(got_work.episodes, work.episodes);

    const Goodbye goodbye{RandomKey(rng), rng.Next()};
    const auto got_goodbye = std::get<Goodbye>(*DecodeActorMessage(Views(Encode(ActorMessage(goodbye)))));
    EXPECT_EQ(got_goodbye.actor, goodbye.actor);
    EXPECT_EQ(got_goodbye.produced, goodbye.produced);

    const MeasureRequest measure{rng.Next(), static_cast<GraphId>(rng.Next()),
                                 std::vector<uint8_t>(static_cast<size_t>(rng.UniformInt(0, 50)), 2)};
    const auto got_measure = std::get<MeasureRequest>(*DecodeLearnerMessage(Views(Encode(LearnerMessage(measure)))));
    EXPECT_EQ(got_measure.id, measure.id);
    EXPECT_EQ(got_measure.graph, measure.graph);
    EXPECT_EQ(got_measure.groups, measure.groups);

    const MeasureReply measured{RandomKey(rng), rng.Next(), rng.Uniform()};
    const auto got_measured = std::get<MeasureReply>(*DecodeActorMessage(Views(Encode(ActorMessage(measured)))));
    EXPECT_EQ(got_measured.actor, measured.actor);
    EXPECT_EQ(got_measured.id, measured.id);
    EXPECT_EQ(got_measured.makespan_us, measured.makespan_us);

    const Notice notice{rng.Next(), rng.Next(), rng.UniformInt(0, 1) == 1};
    const auto got_notice = std::get<Notice>(*DecodeLearnerMessage(Views(Encode(LearnerMessage(notice)))));
    EXPECT_EQ(got_notice.session, notice.session);
    EXPECT_EQ(got_notice.version, notice.version);
    EXPECT_EQ(got_notice.measuring, notice.measuring);

    const WeightsReply weights{rng.Next(), rng.Next(), RandomText(rng, 2000)};
    const auto got_weights = std::get<WeightsReply>(*DecodeLearnerMessage(Views(Encode(LearnerMessage(weights)))));
    EXPECT_EQ(got_weights.version, weights.version);
    EXPECT_EQ(got_weights.hash, weights.hash);
    EXPECT_EQ(got_weights.blob, weights.blob);
  }
  EXPECT_EQ(std::get<Refusal>(*DecodeLearnerMessage(Views(Encode(LearnerMessage(Refusal{"why"}))))).reason, "why");
  EXPECT_TRUE(std::holds_alternative<Stop>(*DecodeLearnerMessage(Views(Encode(LearnerMessage(Stop{}))))));
}

TEST(Codec, MessagesOfRanksRoundTrip) {
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

TEST(Codec, AMessageOfAnotherKindIsRefused) {
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

TEST(Codec, TruncationIsRefusedOrConsistent) {
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

TEST(Codec, EveryFlippedBitIsSurvived) {
  Rng rng(7);
  for (const Sample& sample : Samples(rng)) {
    for (size_t f = 0; f < sample.frames.size(); ++f) {
      for (size_t bit = 0; bit < 8 * sample.frames[f].size(); ++bit) {
        std::vector<Frame> flipped = sample.frames;
        flipped[f][bit / 8] = static_cast<char>(flipped[f][bit / 8] ^ (1 << (bit % 8)));
        DecodeAsEverything(flipped);
      }
    }
  }
}

TEST(Codec, RandomDamageIsSurvived) {
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

TEST(Codec, LongTextIsRefused) {
  const Hello hello{kProtocolVersion, std::string(kMaxTextBytes + 1, 'x'), 1};
  EXPECT_FALSE(DecodeActorMessage(Views(Encode(ActorMessage(hello)))).has_value());
}

}  // namespace
}  // namespace emplace
