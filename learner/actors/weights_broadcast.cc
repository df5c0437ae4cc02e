#include "learner/actors/weights_broadcast.h"

#include <utility>

#include "common/files/content_hash.h"

namespace emplace {

WeightsBroadcast::WeightsBroadcast(std::shared_ptr<const PolicyWeights> initial, const ActorSessions& sessions)
    : sessions_(sessions), newest_(std::move(initial)) {}

void WeightsBroadcast::Publish(std::shared_ptr<const PolicyWeights> weights) {
  const MutexLock lock(mu_);
  newest_ = std::move(weights);
}

std::shared_ptr<const PolicyWeights> WeightsBroadcast::newest() const {
  const MutexLock lock(mu_);
  return newest_;
}

void WeightsBroadcast::AnnounceNew(LearnerEndpoint& endpoint) {
  const std::shared_ptr<const PolicyWeights> weights = newest();
  if (encoded_ && weights->version == announced_) return;
  WeightsReply reply{.version = weights->version, .blob = SerializePolicy(*weights)};
  reply.hash = Hash64(reply.blob);
  encoded_.emplace(reply);
  announced_ = weights->version;
  sessions_.registry().ForEachAlive(
      [&](const ActorKey& actor, const PeerId& peer) { SendNotice(endpoint, peer, actor); });
}

void WeightsBroadcast::SendNotice(LearnerEndpoint& endpoint, const PeerId& peer, const ActorKey& actor) const {
  endpoint.Send(peer, Notice{.session = sessions_.session(),
                             .version = announced_,
                             .measuring = sessions_.registry().num_measuring() > 0,
                             .sequence_limit = sessions_.SequenceLimit(actor)});
}

void WeightsBroadcast::SendNotice(LearnerEndpoint& endpoint, const ActorKey& actor) const {
  sessions_.registry().WithPeerOf(actor, [&](const PeerId& peer) { SendNotice(endpoint, peer, actor); });
}

void WeightsBroadcast::SendWeights(LearnerEndpoint& endpoint, const PeerId& peer) const {
  endpoint.Send(peer, *encoded_);
}

}  // namespace emplace
