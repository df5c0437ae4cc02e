// Addresses of the network: which are of this machine alone, and what an actor may be told to connect to.
// Pure functions: any thread may call them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace emplace {

// "tcp://host:port", taken apart.
struct TcpAddress {
  std::string host;   // An IPv4 address or a host name.
  uint16_t port = 0;  // At least 1.

  std::string text() const;
};

// `host` as an IPv4 address, a.b.c.d; "localhost" is 127.0.0.1. nullopt for anything else.
std::optional<std::string> Ipv4Address(const std::string& host);

// Whether what is sent there stays on this machine. REQUIRES: Ipv4Address gave it.
bool IsLoopback(const std::string& ipv4);
// Whether it stands for all of this machine's addresses: 0.0.0.0.
bool IsAnyAddress(const std::string& ipv4);

// An address to connect to. Throws BadInput for what is none, and, unless what is sent will be `encrypted`, for one
// beyond the loopback network.
TcpAddress ParseAddress(const std::string& address, bool encrypted);

}  // namespace emplace
