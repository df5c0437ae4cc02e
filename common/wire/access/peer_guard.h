// Decides whether a message of a socket's peer is read. A peer may send a limited number of messages per second, and
// now and then one that makes no sense. A peer that exceeds this is cut off, so that it can neither keep the learner
// busy nor fill its memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace emplace {

// Not thread-safe.
class PeerGuard {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Limits {
    double messages_per_s = 1000;  // Messages per second that a peer may send on average.
    double burst = 5000;           // Messages that a peer may send at once after a while of silence.
    int rubbish = 16;              // Messages that make no sense or exceed the rate, after which a peer is cut off.
    // Seconds after which one such message is forgotten: two honest hardware actors disagree now and then.
    double forgives_after_s = 600;
    size_t remembered = 4096;  // Peers that are remembered. Of more, the longest silent ones are forgotten.
  };
  enum class Verdict {
    kHear,
    kIgnore,  // The peer has been cut off, or exceeds the rate.
    kCutOff,  // The peer is cut off from now on. Returned once for a peer; the caller closes its connection.
  };

  explicit PeerGuard(const Limits& limits) : limits_(limits) {}

  // Counts a message of this peer and says what to do with it.
  Verdict Hear(const std::string& peer, Time now);
  // Counts this peer's last message as one that made no sense. Returns kIgnore or kCutOff. REQUIRES: Hear got it.
  Verdict Blame(const std::string& peer);

  // Counts an earlier message of this peer as one that made no sense, when that has shown later. A peer that has sent
  // too many is cut off by its next message.
  void Accuse(const std::string& peer);

  int64_t cut_off() const { return cut_off_; }  // Peers that were cut off so far.
  // Messages that exceeded the rate, or came from peers that were cut off, so far.
  int64_t ignored() const { return ignored_; }

 private:
  struct Peer {
    double allowance = 0;  // Messages that the peer may send at once.
    Time last;             // When the peer last sent a message.
    double rubbish = 0;
    bool cut_off = false;
  };
  Peer& Find(const std::string& peer, Time now);
  Verdict CutOff(Peer& peer);
  void ForgetSilent();

  const Limits limits_;
  std::unordered_map<std::string, Peer> peers_;
  int64_t cut_off_ = 0;
  int64_t ignored_ = 0;
};

}  // namespace emplace
