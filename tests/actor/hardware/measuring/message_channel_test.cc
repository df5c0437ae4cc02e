#include "actor/hardware/measuring/message_channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <thread>

namespace emplace {
namespace {

using Result = MessageChannel::Result;

class MessageChannelTest : public testing::Test {
 protected:
  MessageChannelTest() {
    int sockets[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    here_ = std::make_unique<MessageChannel>(FileDescriptor(sockets[0]));
    raw_ = ::dup(sockets[1]);
    there_ = std::make_unique<MessageChannel>(FileDescriptor(sockets[1]));
  }
  ~MessageChannelTest() override { CloseRaw(); }
  void CloseRaw() {
    if (raw_ >= 0) ::close(raw_);
    raw_ = -1;
  }

  std::unique_ptr<MessageChannel> here_;
  std::unique_ptr<MessageChannel> there_;
  int raw_ = -1;  // The other end, for bytes that are no message.
};

TEST_F(MessageChannelTest, MessagesArriveWhole) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{5'000'000}}) {  // The last is more than a socket holds.
    const std::string sent(size, 'x');
    std::thread sender([&] { EXPECT_EQ(here_->Send(sent), Result::kDone); });
    std::string received = "before";
    EXPECT_EQ(there_->Receive(received), Result::kDone);
    sender.join();
    EXPECT_EQ(received, sent);
  }
}

TEST_F(MessageChannelTest, ThereAreLimitsToWaiting) {
  std::string message;
  const MessageChannel::Wait over{.is_over = [] { return true; }};
  EXPECT_EQ(here_->Receive(message, over), Result::kLate);
  const std::string large(5'000'000, 'x');
  EXPECT_EQ(here_->Send(large, over), Result::kLate);
}

TEST_F(MessageChannelTest, TheEndOfTheOtherSideIsNoticed) {
  there_.reset();
  CloseRaw();
  std::string message;
  EXPECT_EQ(here_->Receive(message), Result::kClosed);
  EXPECT_EQ(here_->Send("x"), Result::kClosed);
}

TEST_F(MessageChannelTest, AnImpossibleLengthIsNoMessage) {
  const uint64_t length = ~uint64_t{0};
  ASSERT_EQ(::write(raw_, &length, sizeof(length)), static_cast<ssize_t>(sizeof(length)));
  std::string message;
  EXPECT_EQ(here_->Receive(message), Result::kClosed);
}

}  // namespace
}  // namespace emplace
