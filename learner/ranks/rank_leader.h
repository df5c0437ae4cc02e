// Rank 0 of a learner with several ranks, as the others see it: admits them, sends each of them every step, gathers
// their shares of the gradient and sends them the sum.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/array_bundle.h"
#include "common/wire/network_options.h"
#include "common/wire/rank_endpoint.h"
#include "learner/update/collective.h"
#include "learner/update/update_engine.h"

namespace emplace {

// May be handed from thread to thread, but is for one at a time. Where a rank is gone, has failed, or does not answer,
// functions throw RunFailed with a line that names it: "rank 2 of 4 on HOST (process 123) ...".
class RankLeader final : public Collective {
 public:
  struct Options {
    int64_t ranks = 2;        // At least 2.
    NetworkOptions network;   // With keys.
    double join_limit_s = 0;  // How long ranks may take to join.
    double step_limit_s = 0;  // How long a rank may let the others wait for its share of a step. 0: no limit.
    // Called several times a second while a step waits for other ranks; what it throws ends the wait.
    std::function<void()> while_waiting = [] {};
    // Whether actors measure on hardware, so that ranks pause for their windows.
    std::function<bool()> measuring = [] { return false; };
  };

  // Binds the socket. Throws as LeaderEndpoint does.
  explicit RankLeader(Options options);

  std::string address() const { return endpoint_.address(); }

  // Waits until all ranks have joined, and sends each of them `welcome`. check() is called several times a second; what
  // it throws ends the wait.
  void Admit(const RankWelcome& welcome, const std::function<void()>& check);
  // Sends all ranks what the next step is made from, as far as it has changed. `values` are the weights from which it
  // starts. REQUIRES: Admit.
  void SendStep(const UpdateInputs& inputs, std::span<const float> values);
  // Throws when a rank is gone or has failed; REQUIRES: Admit. For who waits for ranks by other means.
  void Check();
  // Tells all ranks that the run is over.
  void Stop();

  int64_t rank() const override { return 0; }
  int64_t ranks() const override { return options_.ranks; }
  // For the step sent last.
  void GatherShards(ShardSums& sums) override;
  void Broadcast(std::span<float> values) override;

 private:
  struct Member {
    PeerId peer;  // Empty: it has not joined yet.
    std::string host;
    uint64_t process = 0;
  };

  // "rank 2 of 4", and where it is known also its host and process.
  std::string NameOf(int64_t rank) const;
  // The rank of a peer; 0: none.
  int64_t RankOf(const PeerId& peer) const;
  void Consider(const PeerId& peer, const RankHello& hello);
  void Refuse(const PeerId& peer, const std::string& reason);
  // Sends to all; where one is gone, throws its own last words, or that it is gone.
  void SendToAll(const LeaderMessage& message);
  // The next share, and whose it is, waiting for at most a moment. rank 0: nothing came. Deals with all other messages.
  struct Share {
    int64_t rank = 0;
    RankData data;
  };
  Share NextShare(std::chrono::milliseconds timeout);

  const Options options_;
  LeaderEndpoint endpoint_;
  std::vector<Member> members_;  // [ranks - 1] of rank 1, 2, ...
  std::vector<PeerId> peers_;    // The same, once all have joined.
  uint64_t step_ = 0;            // Of the step sent last.
  ArrayBundle sent_;             // What that step is made from.
};

}  // namespace emplace
