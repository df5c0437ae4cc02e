// Whole messages over a socket between two processes of this program. Not thread-safe.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "common/files/file_descriptor.h"

namespace emplace {

// A message is at most this long; a longer one counts as the end of the other process.
inline constexpr size_t kLongestMessage = size_t{1} << 30;

class MessageChannel {
 public:
  // socket: a connected stream socket.
  explicit MessageChannel(FileDescriptor socket) : socket_(std::move(socket)) {}

  // How long to wait: until `is_over`, which is asked some 20 times a second, says so. The default waits forever.
  struct Wait {
    std::function<bool()> is_over = nullptr;
  };
  enum class Result {
    kDone,
    kLate,    // It is over; the channel is of no use any more.
    kClosed,  // The other process has ended.
  };
  Result Send(const std::string& message, const Wait& wait);
  Result Receive(std::string& message, const Wait& wait);
  Result Send(const std::string& message) { return Send(message, Wait()); }
  Result Receive(std::string& message) { return Receive(message, Wait()); }

 private:
  // Waits until the socket is ready for `events` of poll; kDone: it is.
  Result AwaitReady(short events, const Wait& wait) const;
  Result SendBytes(const char* bytes, size_t size, const Wait& wait);
  Result ReceiveBytes(char* bytes, size_t size, const Wait& wait);

  FileDescriptor socket_;
};

}  // namespace emplace
