// Network addresses: parsing, and whether an address is reached only from this machine.
// Pure functions: any thread may call them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace emplace {

// The parts of "tcp://host:port".
struct TcpAddress {
  std::string host;   // An IPv4 address or a host name.
  uint16_t port = 0;  // At least 1.

  std::string text() const;  // "tcp://host:port"
};

// Returns `host` if it is an IPv4 address a.b.c.d, and 127.0.0.1 for "localhost". nullopt for anything else.
std::optional<std::string> Ipv4Address(const std::string& host);

// Whether messages to the address stay on this machine (127.0.0.0/8). REQUIRES: Ipv4Address returned it.
bool IsLoopback(const std::string& ipv4);
// Whether the address is 0.0.0.0, which stands for all addresses of this machine.
bool IsAnyAddress(const std::string& ipv4);

// Parses "tcp://host:port" for connecting to it. Throws BadInput for a bad address, and, unless the connection will be
// `encrypted`, for an address beyond the loopback network.
TcpAddress ParseAddress(const std::string& address, bool encrypted);

}  // namespace emplace
