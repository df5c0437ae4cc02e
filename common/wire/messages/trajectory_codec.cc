#include "common/wire/messages/trajectory_codec.h"

#include "common/error.h"
#include "common/wire/messages/codec_parts.h"

namespace emplace {
namespace {

// A log-probability for each decision, and rewards for each or for the end.
bool HasLegalSizes(const Trajectory& trajectory) {
  const size_t decisions = trajectory.actions.size();
  const bool has_start = !trajectory.start_placement.empty();
  return decisions <= kMaxSteps && (!has_start || trajectory.start_placement.size() == decisions) &&
         trajectory.behaviour_log_prob.size() == decisions &&
         (trajectory.rho.size() == decisions + 1 || trajectory.rho.size() == 1);
}

}  // namespace

std::vector<Frame> Encode(const Trajectory& trajectory) {
  EMPLACE_CHECK(HasLegalSizes(trajectory));
  return codec::MakeFrames([&](schema::Message::Builder message, codec::Frames& raw) {
    auto out = message.initTrajectory();
    out.setGraph(trajectory.graph);
    codec::Put(trajectory.actor, out.initActor());
    out.setSequence(trajectory.sequence);
    out.setPolicyVersion(trajectory.policy_version);
    out.setIndex(trajectory.index);
    out.setClaim(trajectory.claim == Claim::kMeasured ? schema::Claim::MEASURED : schema::Claim::SIMULATED);
    raw.push_back(codec::BytesOf(trajectory.start_placement));
    raw.push_back(codec::BytesOf(trajectory.actions));
    raw.push_back(codec::BytesOf(trajectory.behaviour_log_prob));
    raw.push_back(codec::BytesOf(trajectory.rho));
  });
}

std::optional<Trajectory> DecodeTrajectory(std::span<const FrameView> frames) {
  if (frames.size() != 5) return std::nullopt;
  return codec::ReadHeader(frames[0], [frames](schema::Message::Reader message) -> std::optional<Trajectory> {
    if (message.which() != schema::Message::TRAJECTORY) return std::nullopt;
    const auto in = message.getTrajectory();
    Trajectory trajectory;
    trajectory.graph = in.getGraph();
    trajectory.actor = codec::Take(in.getActor());
    trajectory.sequence = in.getSequence();
    trajectory.policy_version = in.getPolicyVersion();
    trajectory.index = in.getIndex();
    if (in.getClaim() > schema::Claim::MEASURED) return std::nullopt;  // An enumerant of a newer or of no schema.
    trajectory.claim = in.getClaim() == schema::Claim::MEASURED ? Claim::kMeasured : Claim::kSimulated;
    const bool whole =
        codec::TakeAll(frames[1], trajectory.start_placement) && codec::TakeAll(frames[2], trajectory.actions) &&
        codec::TakeAll(frames[3], trajectory.behaviour_log_prob) && codec::TakeAll(frames[4], trajectory.rho);
    if (!whole || !HasLegalSizes(trajectory)) return std::nullopt;
    return trajectory;
  });
}

}  // namespace emplace
