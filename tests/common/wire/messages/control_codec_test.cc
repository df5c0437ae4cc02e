#include "common/wire/messages/control_codec.h"

#include <gtest/gtest.h>

#include "tests/common/wire/messages/random_messages.h"

namespace emplace {
namespace {

TEST(ControlCodec, WelcomesRoundTrip) {
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

// 255 devices with a link of its own for each pair: some 100 bytes of YAML for each of 64,770 links.
TEST(ControlCodec, ALargeMachineRoundTrips) {
  Welcome sent;
  sent.machine = std::string(7'000'000, 'x');
  const std::optional<LearnerMessage> message = DecodeLearnerMessage(Views(Encode(LearnerMessage(sent))));
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(std::get<Welcome>(*message).machine, sent.machine);
}

TEST(ControlCodec, ControlMessagesRoundTrip) {
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

    const Notice notice{rng.Next(), rng.Next(), rng.UniformInt(0, 1) == 1, rng.Next()};
    const auto got_notice = std::get<Notice>(*DecodeLearnerMessage(Views(Encode(LearnerMessage(notice)))));
    EXPECT_EQ(got_notice.session, notice.session);
    EXPECT_EQ(got_notice.version, notice.version);
    EXPECT_EQ(got_notice.measuring, notice.measuring);
    EXPECT_EQ(got_notice.sequence_limit, notice.sequence_limit);

    const WeightsReply weights{rng.Next(), rng.Next(), RandomText(rng, 2000)};
    const auto got_weights = std::get<WeightsReply>(*DecodeLearnerMessage(Views(Encode(LearnerMessage(weights)))));
    EXPECT_EQ(got_weights.version, weights.version);
    EXPECT_EQ(got_weights.hash, weights.hash);
    EXPECT_EQ(got_weights.blob, weights.blob);
  }
  EXPECT_EQ(std::get<Refusal>(*DecodeLearnerMessage(Views(Encode(LearnerMessage(Refusal{"why"}))))).reason, "why");
  EXPECT_TRUE(std::holds_alternative<Stop>(*DecodeLearnerMessage(Views(Encode(LearnerMessage(Stop{}))))));
}

TEST(ControlCodec, LongTextIsRefused) {
  const Hello hello{kProtocolVersion, std::string(kMaxTextBytes + 1, 'x'), 1};
  EXPECT_FALSE(DecodeActorMessage(Views(Encode(ActorMessage(hello)))).has_value());
}

}  // namespace
}  // namespace emplace
