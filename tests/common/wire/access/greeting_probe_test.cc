#include "common/wire/access/greeting_probe.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "common/strings.h"
#include "common/wire/access/keys.h"
#include "common/wire/learner_endpoint.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;

TEST(GreetingProbe, TellsALearnerWithKeysFromOneWithout) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / StrCat("greeting_", ::getpid());
  MakeRunKeys(folder, 1);
  NetworkOptions options;
  options.keys = LoadLearnerKeys(folder / "learner.keys");
  std::filesystem::remove_all(folder);
  const LearnerEndpoint with(options);
  const LearnerEndpoint without({});
  EXPECT_EQ(MechanismOf(ParseAddress(with.control_address(), true), milliseconds(5000)), "CURVE");
  EXPECT_EQ(MechanismOf(ParseAddress(without.control_address(), true), milliseconds(5000)), "NULL");
}

// A server that says `bytes` to whoever connects, and then nothing.
class Talker {
 public:
  explicit Talker(std::string bytes) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd_, 1), 0);
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this, bytes = std::move(bytes)] {
      const int peer = ::accept(fd_, nullptr, nullptr);
      EXPECT_EQ(::send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL), std::ssize(bytes));
      char byte = 0;
      while (::recv(peer, &byte, 1, 0) > 0) {
      }
      ::close(peer);
    });
  }
  ~Talker() {
    thread_.join();
    ::close(fd_);
  }
  TcpAddress address() const { return {"127.0.0.1", port_}; }

 private:
  const int fd_;
  uint16_t port_ = 0;
  std::jthread thread_;
};

TEST(GreetingProbe, WhatIsNoGreetingTellsNothing) {
  EXPECT_FALSE(MechanismOf(Talker("").address(), milliseconds(50)));
  EXPECT_FALSE(MechanismOf(Talker("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n").address(), milliseconds(5000)));
  EXPECT_FALSE(MechanismOf({"127.0.0.1", 1}, milliseconds(5000)));  // Nobody listens.
  EXPECT_FALSE(MechanismOf({"no such host", 4000}, milliseconds(5000)));
}

}  // namespace
}  // namespace emplace
