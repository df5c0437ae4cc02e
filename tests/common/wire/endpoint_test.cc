#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <zmq.hpp>

#include "common/error.h"
#include "tests/common/wire/meeting.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;

TEST(Endpoint, ControlGoesBothWays) {
  LearnerEndpoint learner({});
  ActorEndpoint actor(learner.control_address());
  const PeerId peer = Meet(actor, learner);
  Welcome welcome;
  welcome.session = 11;
  welcome.config_yaml = "name: x\n";
  welcome.tasks.resize(2);
  for (ArrayBundle& task : welcome.tasks) task.Put("cost", std::vector<double>(1000, 1.5));
  learner.Send(peer, welcome);
  const auto got = Await<Welcome>(actor);
  EXPECT_EQ(got.session, 11U);
  ASSERT_EQ(got.tasks.size(), 2U);
  EXPECT_EQ(got.tasks[1].Get<double>("cost"), std::vector<double>(1000, 1.5));
  const std::string blob(1 << 20, 'w');
  learner.Send(peer, WeightsReply{5, 6, blob});
  EXPECT_EQ(Await<WeightsReply>(actor).blob, blob);
  EXPECT_EQ(learner.counts().malformed, 0);
}

TEST(Endpoint, OneMessageServesManyAndEachGetsItsOwnWelcome) {
  LearnerEndpoint learner({});
  const SharedMessage weights(WeightsReply{5, 6, std::string(1 << 20, 'w')});
  Welcome welcome;
  welcome.actor = {1, 1};
  welcome.session = 11;
  welcome.config_yaml = "name: x\n";
  welcome.trajectories_endpoint = "tcp://127.0.0.1:40001";
  welcome.tasks.resize(2);
  for (ArrayBundle& task : welcome.tasks) task.Put("cost", std::vector<double>(1000, 1.5));
  const SharedMessage welcomes(welcome);
  for (uint32_t i = 0; i < 3; ++i) {
    ActorEndpoint actor(learner.control_address());
    const PeerId peer = Meet(actor, learner);
    const ActorKey key{100 + i, 7};
    learner.SendWelcome(peer, welcomes, key);
    const auto got = Await<Welcome>(actor);
    EXPECT_EQ(got.actor, key);
    EXPECT_EQ(got.session, 11U);
    EXPECT_EQ(got.trajectories_endpoint, welcome.trajectories_endpoint);
    EXPECT_EQ(got.config_yaml, welcome.config_yaml);
    ASSERT_EQ(got.tasks.size(), 2U);
    EXPECT_EQ(got.tasks[1].Get<double>("cost"), std::vector<double>(1000, 1.5));
    learner.Send(peer, weights);
    const auto reply = Await<WeightsReply>(actor);
    EXPECT_EQ(reply.version, 5U);
    EXPECT_EQ(reply.hash, 6U);
    EXPECT_EQ(reply.blob, std::string(1 << 20, 'w'));
  }
}

TEST(Endpoint, ManyActorsShareANetwork) {
  constexpr size_t kActors = 20;
  LearnerEndpoint learner({});
  std::set<uint64_t> arrived;
  {
    SharedNetwork control(2 * kActors);
    auto trajectories = std::make_unique<SharedNetwork>(static_cast<int>(kActors));
    std::vector<std::unique_ptr<ActorEndpoint>> actors;
    std::vector<ActorEndpoint*> all;
    std::vector<PeerId> peers;
    for (size_t i = 0; i < kActors; ++i) {
      actors.push_back(std::make_unique<ActorEndpoint>(learner.control_address(), std::nullopt, &control));
      all.push_back(actors.back().get());
      peers.push_back(Meet(*actors.back(), learner));
    }
    EXPECT_TRUE(ActorEndpoint::WaitForAny(all, kSoon).empty());
    learner.Send(peers[3], Notice{9, 1});
    learner.Send(peers[17], Notice{9, 2});
    for (const size_t i : {size_t{3}, size_t{17}}) {
      for (int tries = 0;
           tries < kTries && !testing::Value(ActorEndpoint::WaitForAny(all, kSoon), testing::Contains(i)); ++tries) {
      }
      EXPECT_EQ(Await<Notice>(*all[i]).session, 9U);
    }
    EXPECT_TRUE(ActorEndpoint::WaitForAny(all, kSoon).empty());
    // What closed sockets have queued still leaves, before their network ends.
    for (size_t i = 0; i < kActors; ++i) {
      TrajectorySocket socket(learner.trajectories_address(), 4, std::nullopt, trajectories.get());
      ASSERT_TRUE(socket.Send(SmallTrajectory(i), milliseconds(1000)));
      socket.Close(milliseconds(10'000));
    }
    trajectories.reset();
  }
  while (const std::optional<Trajectory> trajectory =
             arrived.size() < kActors ? AwaitTrajectory(learner) : std::nullopt) {
    arrived.insert(trajectory->sequence);
  }
  EXPECT_EQ(arrived.size(), kActors);
}

TEST(Endpoint, AFullBufferPushesBackAndLosesNothing) {
  NetworkOptions options;
  options.trajectory_queue = 2;
  LearnerEndpoint learner(options);
  TrajectorySocket socket(learner.trajectories_address(), 2);
  // Nobody reads: after the queues and the kernel's buffers, sends fail.
  Trajectory trajectory = SmallTrajectory(0);
  trajectory.start_placement.assign(5000, 0);
  trajectory.actions.assign(5000, 0);
  trajectory.behaviour_log_prob.assign(5000, 0);
  trajectory.rho.assign(5001, 0);
  uint64_t sent = 0;
  for (bool room = true; room && sent < 10000;) {
    trajectory.sequence = sent + 1;
    room = socket.Send(trajectory, milliseconds(50));
    if (room) ++sent;
  }
  EXPECT_GT(sent, 0U);
  EXPECT_LT(sent, 1000U);
  EXPECT_FALSE(learner.Receive(kSoon, false).has_value());
  for (uint64_t sequence = 1; sequence <= sent; ++sequence) {
    const std::optional<Trajectory> got = AwaitTrajectory(learner);
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->sequence, sequence);
  }
  EXPECT_TRUE(socket.Send(trajectory, milliseconds(1000)));
}

TEST(Endpoint, WaitEndsWithSomethingToReceive) {
  LearnerEndpoint learner({});
  ActorEndpoint actor(learner.control_address());
  TrajectorySocket trajectories(learner.trajectories_address(), 4);
  ASSERT_TRUE(trajectories.Send(SmallTrajectory(1), std::chrono::seconds(10)));
  learner.Wait(std::chrono::minutes(10));
  const auto trajectory = learner.Receive(milliseconds(0), true);
  ASSERT_TRUE(trajectory.has_value());
  EXPECT_EQ(std::get<SentTrajectory>(*trajectory).trajectory.sequence, 1U);
  for (int i = 0; i < kTries && !actor.Send(Hello{kProtocolVersion, "test/0", 7}); ++i)
    std::this_thread::sleep_for(kSoon);
  learner.Wait(std::chrono::minutes(10));
  EXPECT_TRUE(learner.Receive(milliseconds(0), true).has_value());
}

TEST(Endpoint, CloseWaitsForWhatIsQueued) {
  LearnerEndpoint learner({});
  {
    TrajectorySocket socket(learner.trajectories_address(), 64);
    for (uint64_t i = 1; i <= 20; ++i) EXPECT_TRUE(socket.Send(SmallTrajectory(i), milliseconds(1000)));
    socket.Close(milliseconds(5000));
  }
  for (uint64_t i = 1; i <= 20; ++i) {
    const std::optional<Trajectory> got = AwaitTrajectory(learner);
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->sequence, i);
  }
}

TEST(Endpoint, AMessageToAGonePeerIsDropped) {
  LearnerEndpoint learner({});
  std::optional<ActorEndpoint> actor(learner.control_address());
  const PeerId peer = Meet(*actor, learner);
  actor.reset();
  for (int i = 0; i < 200; ++i) learner.Send(peer, Notice{1, 2});
  learner.Send("never seen", Stop{});
  ActorEndpoint next(learner.control_address());
  EXPECT_NE(Meet(next, learner), peer);
}

TEST(Endpoint, AnActorFindsALearnerThatReturns) {
  // Three ports in a row, below those that connections are given: these may be anybody's by the time it returns.
  std::optional<LearnerEndpoint> learner;
  NetworkOptions again;
  for (again.port = 20'000; !learner; again.port += 3) {
    try {
      learner.emplace(again);
    } catch (const Error&) {
      ASSERT_LT(again.port, 30'000);
    }
  }
  again.port -= 3;
  ActorEndpoint actor(learner->control_address());
  Meet(actor, *learner);
  learner.reset();
  for (int i = 0; i < 10; ++i) actor.Send(Heartbeat{});  // To nobody.
  learner.emplace(again);
  const PeerId peer = Meet(actor, *learner);
  learner->Send(peer, Refusal{"go away"});
  EXPECT_EQ(Await<Refusal>(actor).reason, "go away");
}

TEST(Endpoint, DamagedMessagesAreCountedAndDropped) {
  LearnerEndpoint learner({});
  zmq::context_t context;
  zmq::socket_t control(context, zmq::socket_type::dealer);
  zmq::socket_t trajectories(context, zmq::socket_type::dealer);
  control.set(zmq::sockopt::linger, 0);
  trajectories.set(zmq::sockopt::linger, 0);
  control.connect(learner.control_address());
  trajectories.connect(learner.trajectories_address());
  for (zmq::socket_t* socket : {&control, &trajectories}) {
    socket->send(zmq::str_buffer("nonsense"), zmq::send_flags::none);
    socket->send(zmq::str_buffer(""), zmq::send_flags::none);
    for (int part = 0; part < 4; ++part) socket->send(zmq::str_buffer("12345678"), zmq::send_flags::sndmore);
    socket->send(zmq::str_buffer("end"), zmq::send_flags::none);
  }
  for (int i = 0; i < kTries && learner.counts().malformed < 6; ++i)
    EXPECT_FALSE(learner.Receive(kSoon, true).has_value());
  EXPECT_EQ(learner.counts().malformed, 6);
  TrajectorySocket socket(learner.trajectories_address(), 4);
  EXPECT_TRUE(socket.Send(SmallTrajectory(1), milliseconds(1000)));
  EXPECT_TRUE(AwaitTrajectory(learner).has_value());
}

TEST(Endpoint, AFrameThatIsTooLargeIsNotReceived) {
  LearnerEndpoint learner({});
  zmq::context_t context;
  zmq::socket_t control(context, zmq::socket_type::dealer);
  control.set(zmq::sockopt::linger, 0);
  control.connect(learner.control_address());
  control.send(zmq::buffer(std::string(1 << 20, 'x')), zmq::send_flags::none);  // ZeroMQ cuts the connection.
  ActorEndpoint actor(learner.control_address());
  Meet(actor, learner);
  EXPECT_EQ(learner.counts().malformed, 0);
}

TEST(Endpoint, OnlyLoopbackIsServed) {
  const auto bind_to = [](const std::string& host) {
    NetworkOptions options;
    options.bind = host;
    const LearnerEndpoint learner(options);
    return learner.control_address();
  };
  EXPECT_THAT(bind_to("localhost"), testing::StartsWith("tcp://127.0.0.1:"));
  EXPECT_THAT(bind_to("127.0.0.1"), testing::StartsWith("tcp://127.0.0.1:"));
  for (const std::string host : {"0.0.0.0", "*", "10.0.0.1", "eth0", "", "127.0.0", "127.0.0.256", "127.0.0.1.1",
                                 "127.0.0.1;tcp://*", "127..0.1", "1270.0.0.1"}) {
    EXPECT_THROW(bind_to(host), Error) << host;
  }
}

TEST(Endpoint, ATakenPortIsSaid) {
  const LearnerEndpoint first({});
  NetworkOptions same;
  const std::string address = first.control_address();
  same.port = std::stoi(address.substr(address.rfind(':') + 1));
  try {
    const LearnerEndpoint second(same);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kRunFailed);
    EXPECT_THAT(error.what(), testing::HasSubstr(address));
  }
}

}  // namespace
}  // namespace emplace
