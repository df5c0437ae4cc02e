// Functions that both endpoints use. Include this in .cc files of common/wire only, because it includes ZeroMQ.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <zmq.hpp>

#include "common/wire/access/keys.h"
#include "common/wire/messages/frames.h"

namespace emplace {

// Control messages that may wait on either side; further ones are dropped.
inline constexpr int kControlQueue = 64;
// The domain (ZAP, RFC 27) of the learner's sockets, whose keys the ZapHandler decides on.
inline constexpr const char* kKeyDomain = "emplace";
// Milliseconds for which a closed socket still sends queued messages, such as Stop and Goodbye.
inline constexpr int kFarewellMs = 500;

// Sets the length of the queues in messages each way, the largest frame in bytes, and how connections are watched
// and made again.
void SetLimits(zmq::socket_t& socket, int queue, size_t max_frame_bytes);
// When the kernel asks whether a silent host is still there, and how often before the connection ends.
struct KeepAlive {
  int idle_s;
  int every_s;
  int tries;
};
void SetKeepAlive(zmq::socket_t& socket, const KeepAlive& keep_alive);
// Makes the kernel's buffers small. They count against no queue, so large ones would let trajectories wait for long.
void SetTrajectoryBuffers(zmq::socket_t& socket);

// Binds to `port` of the IPv4 address `host`, 0 for any free port, and returns the port. Throws RunFailed when it is
// taken.
uint16_t Bind(zmq::socket_t& socket, const std::string& host, int port);

// From now on the socket accepts encrypted (CURVE) connections only, as the learner's or the actor's side. The
// learner's lets in nobody unless its context has a ZapHandler.
void SetKeys(zmq::socket_t& socket, const LearnerKeys& keys);
void SetKeys(zmq::socket_t& socket, const ActorKeys& keys);

// Returns the next message without waiting, cut to its first `max_frames` frames; empty when there is none.
std::vector<zmq::message_t> ReceiveFrames(zmq::socket_t& socket, size_t max_frames);
std::vector<FrameView> Views(std::span<zmq::message_t> frames);

// Returns false when the socket's queue is full or nobody is connected; then nothing was sent.
bool SendFrames(zmq::socket_t& socket, std::span<const Frame> frames, zmq::send_flags wait);

// Sends `first` and then `shared` as one message, without copying the bytes of `shared`. Returns as SendFrames does.
// REQUIRES: `first` is not empty.
bool SendShared(zmq::socket_t& socket, std::span<const Frame> first, std::span<zmq::message_t> shared,
                zmq::send_flags wait);

// Waits up to `timeout` until one of the items is ready or a signal comes. Their `revents` say which are ready.
void PollReadable(std::span<zmq::pollitem_t> items, std::chrono::milliseconds timeout);
// Waits up to `timeout` until the socket can be read, and returns whether it can; false when a signal comes.
bool WaitReadable(zmq::socket_t& socket, std::chrono::milliseconds timeout);
// Waits up to `timeout` until a socket can be read. Returns whether {first, second} can be. Waits for the first alone
// unless `second_too`.
std::pair<bool, bool> WaitReadable(zmq::socket_t& first, zmq::socket_t& second, bool second_too,
                                   std::chrono::milliseconds timeout);

// The time left until the deadline, at least 0.
std::chrono::milliseconds TimeLeft(std::chrono::steady_clock::time_point deadline);

}  // namespace emplace
