// Sends the policy's weights to the actors. Each version is encoded once, and all connections share its bytes. Actors
// are told of a new version, and fetch the weights when they want them; since such a notice may be lost, the answer to
// each heartbeat is one, too. A notice also says how far its actor may run ahead.
#pragma once

#include <memory>
#include <optional>

#include "common/threads/mutex.h"
#include "common/trajectory.h"
#include "common/wire/learner_endpoint.h"
#include "learner/actors/actor_sessions.h"
#include "policy/policy_weights.h"

namespace emplace {

class WeightsBroadcast {
 public:
  // REQUIRES: sessions outlives the broadcast.
  WeightsBroadcast(std::shared_ptr<const PolicyWeights> initial, const ActorSessions& sessions);

  // Makes these the weights that actors get. Any thread may call it.
  void Publish(std::shared_ptr<const PolicyWeights> weights);
  // Those that were published last. Any thread may call it.
  std::shared_ptr<const PolicyWeights> newest() const;

  // The rest belongs to the front end's thread.
  // Encodes the weights that were published since the last call, if any, and tells all live actors of their version.
  // REQUIRES: it is called before the functions below.
  void AnnounceNew(LearnerEndpoint& endpoint);
  PolicyVersion announced() const { return announced_; }  // The version that AnnounceNew has encoded.
  // Tells one actor of the announced version, of its limit, and whether actors measure.
  void SendNotice(LearnerEndpoint& endpoint, const PeerId& peer, const ActorKey& actor) const;
  // The same, if it is not gone.
  void SendNotice(LearnerEndpoint& endpoint, const ActorKey& actor) const;
  // Sends one actor the announced weights.
  void SendWeights(LearnerEndpoint& endpoint, const PeerId& peer) const;

 private:
  const ActorSessions& sessions_;
  // Used by the front end's thread alone:
  PolicyVersion announced_ = 0;
  std::optional<SharedMessage> encoded_;  // A WeightsReply with the announced version.

  mutable Mutex mu_;
  std::shared_ptr<const PolicyWeights> newest_ EMPLACE_GUARDED_BY(mu_);
};

}  // namespace emplace
