// Asks a peer which security mechanism it speaks, by the greeting of ZeroMQ's protocol (ZMTP 3.1,
// rfc.zeromq.org/spec/37). ZeroMQ itself knows this only when both greetings arrive before either side has closed the
// connection, which is a race.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "common/wire/address.h"

namespace emplace {

// "NULL" (no keys), "CURVE" (keys), or another name of up to 20 characters. nullopt: the peer does not answer in time,
// or does not speak ZMTP 3. Makes a connection of its own and closes it. Any thread may call it.
std::optional<std::string> MechanismOf(const TcpAddress& address, std::chrono::milliseconds timeout);

}  // namespace emplace
