#include "actor/hardware/measuring/message_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

namespace emplace {
namespace {

constexpr int kLookAgain_ms = 50;  // Whether it is over.

}  // namespace

MessageChannel::Result MessageChannel::AwaitReady(short events, const Wait& wait) const {
  while (true) {
    pollfd state{.fd = socket_.get(), .events = events, .revents = 0};
    const int ready = ::poll(&state, 1, kLookAgain_ms);
    if (ready > 0) return Result::kDone;  // Or an error, which the call that follows meets.
    if (ready < 0 && errno != EINTR) return Result::kClosed;
    if (wait.is_over && wait.is_over()) return Result::kLate;
  }
}

MessageChannel::Result MessageChannel::SendBytes(const char* bytes, size_t size, const Wait& wait) {
  while (size > 0) {
    if (const Result ready = AwaitReady(POLLOUT, wait); ready != Result::kDone) return ready;
    const ssize_t sent = ::send(socket_.get(), bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent < 0) return Result::kClosed;
    bytes += sent;
    size -= static_cast<size_t>(sent);
  }
  return Result::kDone;
}

MessageChannel::Result MessageChannel::ReceiveBytes(char* bytes, size_t size, const Wait& wait) {
  while (size > 0) {
    if (const Result ready = AwaitReady(POLLIN, wait); ready != Result::kDone) return ready;
    const ssize_t received = ::recv(socket_.get(), bytes, size, MSG_DONTWAIT);
    if (received < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (received <= 0) return Result::kClosed;
    bytes += received;
    size -= static_cast<size_t>(received);
  }
  return Result::kDone;
}

MessageChannel::Result MessageChannel::Send(const std::string& message, const Wait& wait) {
  const uint64_t size = message.size();
  const Result result = SendBytes(reinterpret_cast<const char*>(&size), sizeof(size), wait);
  return result == Result::kDone ? SendBytes(message.data(), message.size(), wait) : result;
}

MessageChannel::Result MessageChannel::Receive(std::string& message, const Wait& wait) {
  uint64_t size = 0;
  const Result result = ReceiveBytes(reinterpret_cast<char*>(&size), sizeof(size), wait);
  if (result != Result::kDone) return result;
  if (size > kLongestMessage) return Result::kClosed;
  message.resize(size);
  return ReceiveBytes(message.data(), message.size(), wait);
}

}  // namespace emplace
