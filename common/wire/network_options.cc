#include "common/wire/network_options.h"

#include "common/error.h"
#include "common/strings.h"
#include "common/threads/host_name.h"
#include "common/wire/address.h"

namespace emplace {

std::string CheckedBind(const NetworkOptions& options) {
  const std::optional<std::string> host = Ipv4Address(options.bind);
  if (!host) throw BadInput(StrCat("network.bind is '", options.bind, "', expected an IPv4 address or localhost"));
  if (!options.keys && !IsLoopback(*host)) {
    throw BadInput(StrCat("network.bind is '", options.bind,
                          "' and network.keys is empty, expected localhost or 127.x.x.x, or keys (emplace keygen): "
                          "nothing goes over a network unencrypted"));
  }
  return *host;
}

std::string AdvertisedHost(const NetworkOptions& options, const std::string& host) {
  if (!options.advertise.empty()) return options.advertise;
  if (!IsAnyAddress(host)) return host;
  return HostName();
}

}  // namespace emplace
