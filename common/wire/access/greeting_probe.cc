#include "common/wire/access/greeting_probe.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "common/files/file_descriptor.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

// A greeting: 10 bytes of signature, 2 of version, 20 of mechanism, and more that is of no interest here. The signature
// and the version are enough for the peer to send all of its own, and it then waits for our mechanism, so it has
// nothing to object to.
constexpr std::array<uint8_t, 12> kOurs = {0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 3, 0};
constexpr size_t kVersionAt = 10;
constexpr size_t kMechanismAt = 12;
constexpr size_t kMechanismEnd = 32;

// Waits until the socket can be read or written, as `events` says. False: not before the deadline.
bool Wait(const FileDescriptor& socket, int16_t events, Clock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waited{socket.get(), events, 0};
    const int ready = ::poll(&waited, 1, static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

std::optional<std::string> Ask(const addrinfo& to, Clock::time_point deadline) {
  const FileDescriptor socket(::socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return std::nullopt;
  if (::connect(socket.get(), to.ai_addr, to.ai_addrlen) != 0 && errno != EINPROGRESS) return std::nullopt;
  if (!Wait(socket, POLLOUT, deadline)) return std::nullopt;
  if (::send(socket.get(), kOurs.data(), kOurs.size(), MSG_NOSIGNAL) != std::ssize(kOurs)) return std::nullopt;
  std::array<uint8_t, kMechanismEnd> theirs{};
  for (size_t have = 0; have < theirs.size();) {
    if (!Wait(socket, POLLIN, deadline)) return std::nullopt;
    const ssize_t got = ::recv(socket.get(), theirs.data() + have, theirs.size() - have, 0);
    if (got <= 0) return std::nullopt;
    have += static_cast<size_t>(got);
  }
  if (theirs[0] != kOurs[0] || theirs[kVersionAt] < kOurs[kVersionAt]) return std::nullopt;
  const auto begin = theirs.begin() + kMechanismAt;
  return std::string(begin, std::find(begin, theirs.end(), 0));
}

}  // namespace

std::optional<std::string> MechanismOf(const TcpAddress& address, std::chrono::milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found) != 0)
    return std::nullopt;
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
  for (const addrinfo* to = addresses.get(); to != nullptr; to = to->ai_next) {
    if (std::optional<std::string> mechanism = Ask(*to, deadline)) return mechanism;
  }
  return std::nullopt;
}

}  // namespace emplace
