// Who of a socket's peers is heard. Each may send so many messages a second, and a few that make no sense; whoever goes
// on is cut off, so that it can neither keep the learner from its work nor grow what it has to remember.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace emplace {

// For one thread.
class PeerGuard {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Limits {
    double messages_per_s = 1000;  // In the long run.
    double burst = 5000;           // Messages at once, after a while of silence.
    int rubbish = 16;              // Messages without sense or over the rate, until it is cut off.
    size_t remembered = 4096;      // Peers; of more, those that were silent for longest start anew.
  };
  enum class Verdict {
    kHear,
    kIgnore,  // It has been cut off, or sends too much.
    kCutOff,  // From now on. Said once a peer: the caller closes its connection.
  };

  explicit PeerGuard(const Limits& limits) : limits_(limits) {}

  // One message of this peer has come.
  Verdict Hear(const std::string& peer, Time now);
  // The message that came last from this peer made no sense: kIgnore or kCutOff. REQUIRES: it was heard.
  Verdict Blame(const std::string& peer);

  int64_t cut_off() const { return cut_off_; }  // Peers so far.
  int64_t ignored() const { return ignored_; }  // Messages so far: over the rate, or of those that were cut off.

 private:
  struct Peer {
    double allowance = 0;  // Messages that it may send at once.
    Time last;             // When it last sent one.
    int rubbish = 0;
    bool cut_off = false;
  };
  Peer& Find(const std::string& peer, Time now);
  void ForgetSilent();

  const Limits limits_;
  std::unordered_map<std::string, Peer> peers_;
  int64_t cut_off_ = 0;
  int64_t ignored_ = 0;
};

}  // namespace emplace
