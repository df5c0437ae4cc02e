// Endpoints with keys: who holds them is served, nobody else gets a word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>
#include <zmq.hpp>

#include "common/error.h"
#include "common/strings.h"
#include "common/wire/sockets.h"
#include "tests/common/wire/meeting.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class EndpointKeys : public testing::Test {
 protected:
  EndpointKeys() {
    fs::remove_all(folder_);
    MakeRunKeys(folder_ / "run", 2);
    MakeRunKeys(folder_ / "other", 1);
    options_.keys = LoadLearnerKeys(folder_ / "run" / "learner.keys");
  }
  ~EndpointKeys() override { fs::remove_all(folder_); }

  ActorKeys Keys(int i) const { return LoadActorKeys(folder_ / "run" / StrCat("actor-", i, ".keys")); }

  // Whatever this actor says, the learner hears nothing of it.
  static void ExpectNotHeard(LearnerEndpoint& learner, ActorEndpoint& actor) {
    for (int i = 0; i < 50; ++i) {
      actor.Send(Hello{kProtocolVersion, "test/0", 7});
      EXPECT_FALSE(learner.Receive(kSoon, true).has_value());
      EXPECT_FALSE(actor.Receive(milliseconds(0)).has_value());
    }
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / StrCat("emplace_endpoint_keys_", ::getpid());
  NetworkOptions options_;
};

TEST_F(EndpointKeys, WhoHoldsThemIsServedOnAllSockets) {
  LearnerEndpoint learner(options_);
  ActorEndpoint actor(learner.control_address(), Keys(0));
  const PeerId peer = Meet(actor, learner);
  learner.Send(peer, Notice{5, 6});
  EXPECT_EQ(Await<Notice>(actor).session, 5U);
  TrajectorySocket trajectories(learner.trajectories_address(), 4, Keys(1));
  EXPECT_TRUE(trajectories.Send(SmallTrajectory(9), milliseconds(10'000)));
  const std::optional<Trajectory> got = AwaitTrajectory(learner);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->sequence, 9U);
}

TEST_F(EndpointKeys, NobodyElseGetsAWord) {
  LearnerEndpoint learner(options_);
  ActorEndpoint without(learner.control_address());
  ExpectNotHeard(learner, without);
  const ActorKeys of_another_run = LoadActorKeys(folder_ / "other" / "actor-0.keys");
  ActorEndpoint wrong_learner(learner.control_address(), of_another_run);
  ExpectNotHeard(learner, wrong_learner);
  // It knows this learner's public key, but is not let in.
  ActorKeys stranger = of_another_run;
  stranger.learner = options_.keys->public_key;
  ActorEndpoint not_allowed(learner.control_address(), stranger);
  ExpectNotHeard(learner, not_allowed);
  EXPECT_GT(learner.counts().refused, 0);
  TrajectorySocket trajectories(learner.trajectories_address(), 1, stranger);
  trajectories.Send(SmallTrajectory(1), milliseconds(100));
  EXPECT_FALSE(learner.Receive(milliseconds(200), true).has_value());

  ActorEndpoint actor(learner.control_address(), Keys(0));  // And nobody else is kept out.
  Meet(actor, learner);
  EXPECT_EQ(learner.counts().malformed, 0);
}

TEST_F(EndpointKeys, WhereNobodyChecksKeysNobodyIsLetIn) {
  zmq::context_t context;
  zmq::socket_t router(context, zmq::socket_type::router);
  SetKeys(router, *options_.keys);
  router.set(zmq::sockopt::linger, 0);
  router.bind("tcp://127.0.0.1:*");
  ActorEndpoint actor(router.get(zmq::sockopt::last_endpoint), Keys(0));
  for (int i = 0; i < 50; ++i) {
    actor.Send(Hello{kProtocolVersion, "test/0", 7});
    actor.Receive(kSoon);
    zmq::message_t message;
    EXPECT_FALSE(router.recv(message, zmq::recv_flags::dontwait).has_value());
  }
}

TEST_F(EndpointKeys, WhoIsRefusedLearnsWhy) {
  const auto refusal = [](ActorEndpoint& actor, bool final) {
    std::optional<KeyProblem> problem;
    for (int i = 0; i < kTries && !problem; ++i) {
      actor.Receive(kSoon);
      problem = actor.NextKeyProblem();
    }
    EXPECT_EQ(problem.value_or(KeyProblem{}).final, final);
    return problem.value_or(KeyProblem{}).why;
  };
  LearnerEndpoint learner(options_);
  ActorEndpoint without(learner.control_address());
  EXPECT_THAT(refusal(without, true), testing::HasSubstr("this one has none"));
  ActorKeys stranger = LoadActorKeys(folder_ / "other" / "actor-0.keys");
  ActorEndpoint wrong_learner(learner.control_address(), stranger);
  EXPECT_THAT(refusal(wrong_learner, false), testing::HasSubstr("another run"));
  stranger.learner = options_.keys->public_key;
  ActorEndpoint not_allowed(learner.control_address(), stranger);
  EXPECT_THAT(refusal(not_allowed, true), testing::HasSubstr("does not let in"));
  LearnerEndpoint open({});
  ActorEndpoint with(open.control_address(), Keys(0));
  EXPECT_THAT(refusal(with, true), testing::HasSubstr("has no keys"));

  ActorEndpoint welcome(learner.control_address(), Keys(0));
  Meet(welcome, learner);
  EXPECT_FALSE(welcome.NextKeyProblem().has_value());
}

TEST_F(EndpointKeys, AnActorTalksToItsLearnerAlone) {
  NetworkOptions impostor_options;
  impostor_options.keys = LoadLearnerKeys(folder_ / "other" / "learner.keys");
  impostor_options.keys->actors.push_back(Keys(0).public_key);
  LearnerEndpoint impostor(impostor_options);
  ActorEndpoint actor(impostor.control_address(), Keys(0));
  ExpectNotHeard(impostor, actor);
}

TEST_F(EndpointKeys, BeyondLoopbackThereMustBeKeys) {
  NetworkOptions everywhere;
  everywhere.bind = "0.0.0.0";
  try {
    const LearnerEndpoint learner(everywhere);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
    EXPECT_THAT(error.what(), testing::HasSubstr("emplace keygen"));
  }
  options_.bind = "0.0.0.0";
  options_.advertise = "127.0.0.1";
  LearnerEndpoint learner(options_);
  EXPECT_THAT(learner.control_address(), testing::StartsWith("tcp://127.0.0.1:"));
  ActorEndpoint actor(learner.control_address(), Keys(0));
  Meet(actor, learner);
}

// Passes bytes on between two sides, and remembers what the side that connected has sent.
class Wiretap {
 public:
  explicit Wiretap(uint16_t to) : to_(to), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  ~Wiretap() {
    Stop();
    ::close(listener_);
  }
  uint16_t port() const { return port_; }
  std::string Stop() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
    return recorded_;
  }
  static int Connect(uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = Loopback(port);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }

 private:
  static sockaddr_in Loopback(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
  }
  void Run() {
    const int from = ::accept(listener_, nullptr, nullptr);
    const int to = Connect(to_);
    std::string buffer(1 << 16, '\0');
    const auto pass = [&](int source, int sink) -> std::string {
      const ssize_t n = ::recv(source, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (n <= 0) return "";
      EXPECT_EQ(::send(sink, buffer.data(), static_cast<size_t>(n), MSG_NOSIGNAL), n);
      return buffer.substr(0, static_cast<size_t>(n));
    };
    while (!done_) {
      const std::string sent = pass(from, to);
      recorded_ += sent;
      if (sent.empty() && pass(to, from).empty()) std::this_thread::sleep_for(milliseconds(1));
    }
    ::close(from);
    ::close(to);
  }

  const uint16_t to_;
  const int listener_;
  uint16_t port_ = 0;
  std::atomic<bool> done_ = false;
  std::string recorded_;  // Of the thread, then of who has stopped it.
  std::thread thread_;
};

uint16_t PortOf(const std::string& address) {
  return static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

TEST_F(EndpointKeys, WhatIsRecordedCanBeNeitherReadNorReplayed) {
  LearnerEndpoint learner(options_);
  Wiretap tap(PortOf(learner.control_address()));
  {
    ActorEndpoint actor(StrCat("tcp://127.0.0.1:", tap.port()), Keys(0));
    Meet(actor, learner);
  }
  const std::string recorded = tap.Stop();
  ASSERT_GT(recorded.size(), 200U);
  EXPECT_EQ(recorded.find("test/0"), std::string::npos);
  while (learner.Receive(milliseconds(100), true)) {
  }

  for (int i = 0; i < 3; ++i) {
    const int replay = Wiretap::Connect(PortOf(learner.control_address()));
    ASSERT_EQ(::send(replay, recorded.data(), recorded.size(), MSG_NOSIGNAL), std::ssize(recorded));
    EXPECT_FALSE(learner.Receive(milliseconds(200), true).has_value());
    ::close(replay);
  }
  EXPECT_EQ(learner.counts().malformed, 0);
}

TEST_F(EndpointKeys, AKeyThatSendsRubbishIsLockedOutAndTheOthersAreNot) {
  LearnerEndpoint learner(options_);
  zmq::context_t context;
  const ActorKeys keys = Keys(0);
  const auto connect = [&] {
    zmq::socket_t socket(context, zmq::socket_type::dealer);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::curve_serverkey, keys.learner);
    socket.set(zmq::sockopt::curve_publickey, keys.public_key);
    socket.set(zmq::sockopt::curve_secretkey, keys.secret_key);
    socket.connect(learner.control_address());
    return socket;
  };
  zmq::socket_t rubbish = connect();
  // Without waiting: once it is cut off, nobody takes the rest.
  for (int i = 0; i < 100; ++i) rubbish.send(zmq::str_buffer("nonsense"), zmq::send_flags::dontwait);
  ASSERT_TRUE(ReceiveUntil(learner, [&] { return learner.counts().cut_off == 1; }));
  zmq::socket_t again = connect();
  again.send(zmq::str_buffer("nonsense"), zmq::send_flags::dontwait);
  EXPECT_TRUE(ReceiveUntil(learner, [&] { return learner.counts().refused > 0; }));
  EXPECT_EQ(learner.counts().malformed, 17);
  ActorEndpoint actor(learner.control_address(), Keys(1));
  Meet(actor, learner);
}

}  // namespace
}  // namespace emplace
