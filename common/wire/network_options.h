// Where the sockets of a learner listen.
#pragma once

#include <optional>
#include <string>

#include "common/wire/access/keys.h"

namespace emplace {

struct NetworkOptions {
  std::string bind = "127.0.0.1";   // As network.bind, with the same rule for keys.
  std::string advertise;            // As network.advertise.
  int port = 0;                     // As network.port.
  int trajectory_queue = 8;         // Trajectories of one actor that may wait in the trajectories socket.
  std::optional<LearnerKeys> keys;  // nullopt: nothing is encrypted, and any process on this machine can connect.
};

// The address to bind, as IPv4. Throws BadInput for one that is none, or that needs keys and has none.
std::string CheckedBind(const NetworkOptions& options);
// The host that others are told, where `host` is what CheckedBind returned.
std::string AdvertisedHost(const NetworkOptions& options, const std::string& host);

}  // namespace emplace
