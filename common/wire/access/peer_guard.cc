#include "common/wire/access/peer_guard.h"

#include <algorithm>
#include <vector>

#include "common/error.h"

namespace emplace {

PeerGuard::Verdict PeerGuard::Hear(const std::string& name, Time now) {
  Peer& peer = Find(name, now);
  const double silence_s = std::chrono::duration<double>(now - peer.last).count();
  peer.last = now;
  if (peer.cut_off) {
    ++ignored_;
    return Verdict::kIgnore;
  }
  peer.rubbish = std::max(0.0, peer.rubbish - silence_s / limits_.forgives_after_s);
  if (peer.rubbish > limits_.rubbish) {
    ++ignored_;
    return CutOff(peer);
  }
  peer.allowance = std::min(limits_.burst, peer.allowance + silence_s * limits_.messages_per_s);
  if (peer.allowance < 1) {
    ++ignored_;
    return Blame(name);
  }
  --peer.allowance;
  return Verdict::kHear;
}

PeerGuard::Verdict PeerGuard::Blame(const std::string& name) {
  const auto found = peers_.find(name);
  EMPLACE_CHECK(found != peers_.end());
  Peer& peer = found->second;
  if (peer.cut_off || ++peer.rubbish <= limits_.rubbish) return Verdict::kIgnore;
  return CutOff(peer);
}

void PeerGuard::Accuse(const std::string& name) {
  const auto found = peers_.find(name);
  if (found != peers_.end()) ++found->second.rubbish;  // Else it is forgotten, as are the silent.
}

PeerGuard::Verdict PeerGuard::CutOff(Peer& peer) {
  peer.cut_off = true;
  ++cut_off_;
  return Verdict::kCutOff;
}

PeerGuard::Peer& PeerGuard::Find(const std::string& name, Time now) {
  const auto found = peers_.find(name);
  if (found != peers_.end()) return found->second;
  if (peers_.size() >= limits_.remembered) ForgetSilent();
  return peers_.emplace(name, Peer{.allowance = limits_.burst, .last = now}).first->second;
}

// Half of them, so that this is rare.
void PeerGuard::ForgetSilent() {
  std::vector<Time> times;
  for (const auto& [name, peer] : peers_) times.push_back(peer.last);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  std::erase_if(peers_, [limit = *middle](const auto& entry) { return entry.second.last <= limit; });
}

}  // namespace emplace
