#include "common/wire/address.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "common/parse_number.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr size_t kMaxHostBytes = 253;  // Of a name in DNS.

bool IsHostName(std::string_view host) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
  };
  // One that is digits and dots alone is an address that went wrong.
  return !host.empty() && host.size() <= kMaxHostBytes && std::all_of(host.begin(), host.end(), fits) &&
         host.find_first_not_of("0123456789.") != std::string_view::npos;
}

}  // namespace

std::string TcpAddress::text() const { return StrCat("tcp://", host, ":", port); }

std::optional<std::string> Ipv4Address(const std::string& host) {
  if (host == "localhost") return "127.0.0.1";
  const std::vector<std::string> parts = Split(host, '.');
  if (parts.size() != 4) return std::nullopt;
  for (const std::string& part : parts) {
    const std::optional<unsigned> value = ParseNumber<unsigned>(part);
    if (!value || part.size() > 3 || *value > 255) return std::nullopt;
  }
  return host;
}

bool IsLoopback(const std::string& ipv4) { return ipv4.starts_with("127."); }

bool IsAnyAddress(const std::string& ipv4) { return ipv4 == "0.0.0.0"; }

TcpAddress ParseAddress(const std::string& address, bool encrypted) {
  constexpr std::string_view kScheme = "tcp://";
  const size_t colon = address.rfind(':');
  if (!address.starts_with(kScheme) || colon == std::string::npos || colon < kScheme.size()) {
    throw BadInput(StrCat("address is '", address, "', expected tcp://host:port"));
  }
  const std::string host = address.substr(kScheme.size(), colon - kScheme.size());
  const std::string port = address.substr(colon + 1);
  const std::optional<unsigned> number = ParseNumber<unsigned>(port);
  if (!number || *number < 1 || *number > 65535) {
    throw BadInput(StrCat("address '", address, "': port is '", port, "', expected 1..65535"));
  }
  const std::optional<std::string> ipv4 = Ipv4Address(host);
  if (!ipv4 && !IsHostName(host)) {
    throw BadInput(StrCat("address '", address, "': host is '", host, "', expected a name or an IPv4 address"));
  }
  if (!encrypted && (!ipv4 || !IsLoopback(*ipv4))) {
    throw BadInput(StrCat("address '", address, "': host is '", host,
                          "', expected localhost or 127.x.x.x, or keys to encrypt with (EMPLACE_KEYS, --keys)"));
  }
  return {ipv4.value_or(host), static_cast<uint16_t>(*number)};
}

}  // namespace emplace
