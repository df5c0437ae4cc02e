// Peers of this machine, which need no keys, that send what no actor sends: the learner goes on, and remembers little.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>
#include <zmq.hpp>

#include "tests/common/wire/meeting.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;

int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0;
  int64_t resident = 0;
  statm >> size >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

class HostilePeer : public testing::Test {
 protected:
  zmq::socket_t Connect(const std::string& address) {
    zmq::socket_t socket(context_, zmq::socket_type::dealer);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::sndhwm, 1000);
    socket.set(zmq::sockopt::sndtimeo, 100);
    socket.connect(address);
    return socket;
  }

  zmq::context_t context_;
};

TEST_F(HostilePeer, AMillionTinyMessagesAreCutOffAndSoundOnesStillCome) {
  LearnerEndpoint learner({});
  TrajectorySocket sound(learner.trajectories_address(), 4);
  const int64_t before = ResidentBytes();
  for (const std::string& address : {learner.control_address(), learner.trajectories_address()}) {
    std::jthread flood([&](const std::stop_token& stop) {
      zmq::socket_t socket = Connect(address);
      for (int i = 0; i < 500'000 && !stop.stop_requested(); ++i)
        socket.send(zmq::str_buffer("x"), zmq::send_flags::dontwait);
    });
    const int64_t cut_before = learner.counts().cut_off;
    EXPECT_TRUE(ReceiveUntil(learner, [&] { return learner.counts().cut_off > cut_before; }));
    for (uint64_t i = 1; i <= 100; ++i) {
      ASSERT_TRUE(sound.Send(SmallTrajectory(i), milliseconds(10'000)));
      const std::optional<Trajectory> got = AwaitTrajectory(learner);
      ASSERT_TRUE(got.has_value());
      EXPECT_EQ(got->sequence, i);
    }
  }
  EXPECT_LT(ResidentBytes() - before, 200'000'000);
}

TEST_F(HostilePeer, WhatIsCutOffIsDisconnected) {
  LearnerEndpoint learner({});
  zmq::socket_t socket = Connect(learner.control_address());
  zmq::socket_t monitor(context_, zmq::socket_type::pair);
  ASSERT_EQ(zmq_socket_monitor(socket.handle(), "inproc://monitor", ZMQ_EVENT_DISCONNECTED), 0);
  monitor.connect("inproc://monitor");
  for (int i = 0; i < 50; ++i) socket.send(zmq::str_buffer("x"), zmq::send_flags::none);
  ASSERT_TRUE(ReceiveUntil(learner, [&] { return learner.counts().cut_off == 1; }));
  monitor.set(zmq::sockopt::rcvtimeo, 10'000);
  zmq::message_t event;
  EXPECT_TRUE(monitor.recv(event).has_value());
}

TEST_F(HostilePeer, AGigabyteIsNotTakenIn) {
  LearnerEndpoint learner({});
  const int64_t before = ResidentBytes();
  // By the protocol, a frame of 1 GiB: the greeting and READY of ZMTP 3.0 (RFC 23) without security, then a length.
  std::string bytes = std::string("\xFF\0\0\0\0\0\0\0\0\x7F\3\0", 12) + "NULL" + std::string(48, '\0');
  const std::string ready = std::string("\5READY\13Socket-Type\0\0\0\6DEALER", 28);
  bytes += std::string("\4") + static_cast<char>(ready.size()) + ready;
  bytes += std::string("\2\0\0\0\0\x40\0\0\0", 9);  // A long frame, 2^30 bytes.
  const std::string address = learner.control_address();
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  ASSERT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), std::ssize(bytes));
  // The connection ends long before a gigabyte has gone through.
  const std::string block(1 << 20, 'x');
  int sent = 0;
  while (sent < 1024 && ::send(fd, block.data(), block.size(), MSG_NOSIGNAL) > 0) ++sent;
  EXPECT_LT(sent, 1024);
  ::close(fd);
  EXPECT_FALSE(learner.Receive(milliseconds(100), true).has_value());
  EXPECT_LT(ResidentBytes() - before, 100'000'000);
  ActorEndpoint actor(learner.control_address());
  Meet(actor, learner);
}

TEST_F(HostilePeer, AMessageOfManyFramesIsOneWithoutSense) {
  LearnerEndpoint learner({});
  zmq::socket_t socket = Connect(learner.trajectories_address());
  for (int i = 0; i < 100'000; ++i) socket.send(zmq::str_buffer("x"), zmq::send_flags::sndmore);
  socket.send(zmq::str_buffer("x"), zmq::send_flags::none);
  EXPECT_TRUE(ReceiveUntil(learner, [&] { return learner.counts().malformed == 1; }));
}

TEST_F(HostilePeer, WhoAsksTooOftenIsNotAnswered) {
  LearnerEndpoint learner({});
  ActorEndpoint greedy(learner.control_address());
  Meet(greedy, learner);
  int64_t heard = 0;
  for (int i = 0; i < 1'000'000 && learner.counts().cut_off == 0; ++i) {
    greedy.Send(WeightsRequest{});
    if (learner.Receive(milliseconds(0), true)) ++heard;
  }
  ASSERT_TRUE(ReceiveUntil(learner, [&] { return learner.counts().cut_off == 1; }));
  EXPECT_LT(heard, 15'000);  // The burst, and what the rate gives while the test runs: 5,000, and 1,000 a second.
  ActorEndpoint actor(learner.control_address());
  Meet(actor, learner);
}

}  // namespace
}  // namespace emplace
