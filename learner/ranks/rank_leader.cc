#include "learner/ranks/rank_leader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/error.h"
#include "common/log.h"
#include "common/strings.h"
#include "learner/ranks/shard_message.h"
#include "learner/ranks/step_message.h"
#include "policy/simd/kernel_path.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kLook(100);  // Between looks at whether all ranks are still there.
constexpr double kTellEvery_s = 10;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

RankLeader::RankLeader(Options options)
    : options_(std::move(options)), endpoint_(options_.network), members_(static_cast<size_t>(options_.ranks - 1)) {
  EMPLACE_CHECK(options_.ranks >= 2);
}

std::string RankLeader::NameOf(int64_t rank) const {
  const Member& member = members_[static_cast<size_t>(rank - 1)];
  const std::string name = StrCat("rank ", rank, " of ", options_.ranks);
  return member.peer.empty() ? name : StrCat(name, " on ", member.host, " (process ", member.process, ")");
}

int64_t RankLeader::RankOf(const PeerId& peer) const {
  const auto found = std::ranges::find(members_, peer, &Member::peer);
  return found == members_.end() ? 0 : 1 + (found - members_.begin());
}

void RankLeader::Refuse(const PeerId& peer, const std::string& reason) {
  LogWarning(StrCat("a rank is refused: ", reason));
  endpoint_.Send({{peer}}, Refusal{reason});
}

void RankLeader::Consider(const PeerId& peer, const RankHello& hello) {
  if (hello.protocol != kProtocolVersion) {
    return Refuse(peer, StrCat("it speaks version ", hello.protocol, " of the protocol, expected ", kProtocolVersion));
  }
  if (hello.rank < 1 || hello.rank >= options_.ranks) {
    return Refuse(peer, StrCat("it is rank ", hello.rank, ", expected 1 to ", options_.ranks - 1,
                               ", as training.ranks is ", options_.ranks));
  }
  Member& member = members_[hello.rank - 1];
  if (!member.peer.empty()) return Refuse(peer, StrCat(NameOf(hello.rank), " is there already"));
  member = {peer, hello.host, hello.process};
  LogInfo(StrCat(NameOf(hello.rank), " has joined"));
  if (hello.kernel != ToString(BestKernelPath())) {
    LogWarning(StrCat(NameOf(hello.rank), " runs the ", hello.kernel, " kernel and rank 0 the ",
                      ToString(BestKernelPath()), " one: results will differ from those of one rank in the last bits"));
  }
}

RankLeader::Share RankLeader::NextShare(milliseconds timeout) {
  std::optional<FromRank> received = endpoint_.Receive(timeout);
  if (!received) return {};
  const int64_t rank = RankOf(received->peer);
  if (!received->message) {
    if (rank > 0) throw RunFailed(StrCat(NameOf(rank), " has sent a message that makes no sense"));
    return {};  // The endpoint has counted it.
  }
  if (const auto* const hello = std::get_if<RankHello>(&*received->message)) {
    if (rank == 0) Consider(received->peer, *hello);
  } else if (rank == 0) {
    Refuse(received->peer, "it has not said which rank it is");
  } else if (const auto* const failure = std::get_if<RankFailure>(&*received->message)) {
    throw RunFailed(StrCat(NameOf(rank), ": ", failure->reason));
  } else {
    return {rank, std::get<RankData>(*std::move(received->message))};
  }
  return {};
}

void RankLeader::SendToAll(const LeaderMessage& message) {
  const std::optional<size_t> gone = endpoint_.Send(peers_, message);
  if (!gone) return;
  // Its own words, if it has left some, say more: they are among what has come by now, of each rank two messages at
  // most.
  for (size_t i = 0; i < 2 * members_.size(); ++i) NextShare(milliseconds(0));
  throw RunFailed(StrCat(NameOf(static_cast<int64_t>(*gone) + 1), " is gone: it has ended, or its machine has"));
}

void RankLeader::Admit(const RankWelcome& welcome, const std::function<void()>& check) {
  const Clock::time_point start = Clock::now();
  double told_s = 0;
  const auto missing = [this] { return std::ranges::find(members_, PeerId(), &Member::peer); };
  while (missing() != members_.end()) {
    const Share share = NextShare(kLook);
    if (share.rank > 0) throw RunFailed(StrCat(NameOf(share.rank), " has sent a share of no step"));
    check();
    if (missing() == members_.end()) break;
    const std::string name = NameOf(1 + (missing() - members_.begin()));
    const double waited_s = SecondsSince(start);
    if (waited_s > options_.join_limit_s) {
      throw RunFailed(StrCat(name, " has not joined at ", address(), " for ", options_.join_limit_s, " s"));
    }
    if (waited_s - told_s > kTellEvery_s) {
      told_s = waited_s;
      LogInfo(StrCat("waiting for ", name, " to join at ", address()));
    }
  }
  for (const Member& member : members_) peers_.push_back(member.peer);
  SendToAll(welcome);
}

void RankLeader::SendStep(const UpdateInputs& inputs, std::span<const float> values) {
  EMPLACE_CHECK(!peers_.empty());
  ++step_;
  ArrayBundle step = ToBundle(inputs, values);
  SendToAll(RankData{.kind = RankDataKind::kStep,
                     .step = step_,
                     .arrays = ChangedArrays(sent_, step),
                     .measuring = options_.measuring()});
  sent_ = std::move(step);
}

void RankLeader::GatherShards(ShardSums& sums) {
  std::vector<bool> came(static_cast<size_t>(ranks()), false);
  came[0] = true;
  const auto missing = [&came] { return std::ranges::find(came, false); };
  const Clock::time_point start = Clock::now();
  Clock::time_point looked = start;
  while (missing() != came.end()) {
    const Share share = NextShare(kLook);
    if (share.rank > 0) {
      const auto index = static_cast<size_t>(share.rank);
      if (share.data.kind != RankDataKind::kShards || share.data.step != step_ || came[index]) {
        throw RunFailed(StrCat(NameOf(share.rank), " has sent a share that nobody has asked for"));
      }
      try {
        TakeShares(share.data.arrays, share.rank, sums);
      } catch (const Error& error) {
        throw RunFailed(StrCat(NameOf(share.rank), ": ", error.what()));
      }
      came[index] = true;
    }
    if (Clock::now() - looked < kLook) continue;
    looked = Clock::now();
    Check();
    if (options_.step_limit_s > 0 && SecondsSince(start) > options_.step_limit_s && missing() != came.end()) {
      throw RunFailed(StrCat(NameOf(missing() - came.begin()), " has not sent its share of optimizer step ", step_,
                             " for ", options_.step_limit_s, " s (learner.watchdog_s)"));
    }
  }
}

void RankLeader::Check() {
  SendToAll(RankPing{});
  options_.while_waiting();
}

void RankLeader::Broadcast(std::span<float> values) {
  ArrayBundle bundle;
  bundle.Put<float>("sum", values);
  SendToAll(RankData{RankDataKind::kSum, step_, bundle});
}

void RankLeader::Stop() { endpoint_.Send(peers_, emplace::Stop{}); }

}  // namespace emplace
