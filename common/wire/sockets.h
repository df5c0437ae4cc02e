// What the endpoints have in common. For .cc files of this folder only: ZeroMQ shows in it.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <zmq.hpp>

#include "common/wire/codec.h"
#include "common/wire/keys.h"

namespace emplace {

// Control messages and notices that wait on either side; more are dropped.
inline constexpr int kControlQueue = 64;
// How long a closed socket goes on sending what is queued: Stop, Goodbye.
inline constexpr int kFarewellMs = 500;

// Queues of so many messages each way, frames of so many bytes at most, and what every connection is watched with.
void SetLimits(zmq::socket_t& socket, int queue, size_t max_frame_bytes);
// The kernel's buffers count against no queue, so small ones bound how stale a waiting trajectory gets.
void SetTrajectoryBuffers(zmq::socket_t& socket);

// From here on the socket speaks CURVE alone, as the side that is connected to, or the one that connects.
void SetKeys(zmq::socket_t& socket, const LearnerKeys& keys);
void SetKeys(zmq::socket_t& socket, const ActorKeys& keys);

// The message that is there now, without its frames past the first `max_frames`; empty when there is none.
std::vector<zmq::message_t> ReceiveFrames(zmq::socket_t& socket, size_t max_frames);
std::vector<FrameView> Views(std::span<zmq::message_t> frames);

// False when the socket's queue is full or nobody is connected; then nothing was sent.
bool SendFrames(zmq::socket_t& socket, std::span<const Frame> frames, zmq::send_flags wait);

// The same for `first` and then `shared`, whose bytes are not copied. REQUIRES: `first` is not empty.
bool SendShared(zmq::socket_t& socket, std::span<const Frame> first, std::span<zmq::message_t> shared,
                zmq::send_flags wait);

// Waits until one of them is ready, or a signal comes; `revents` say which.
void PollReadable(std::span<zmq::pollitem_t> items, std::chrono::milliseconds timeout);
// Waits until one of two sockets can be read: {first, second}. Without `second_too`, only for the first.
std::pair<bool, bool> WaitReadable(zmq::socket_t& first, zmq::socket_t& second, bool second_too,
                                   std::chrono::milliseconds timeout);

// What is left until then; not below 0.
std::chrono::milliseconds TimeLeft(std::chrono::steady_clock::time_point deadline);

}  // namespace emplace
