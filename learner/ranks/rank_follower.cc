#include "learner/ranks/rank_follower.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/log.h"
#include "common/strings.h"
#include "common/threads/host_name.h"
#include "common/threads/pausing_work.h"
#include "common/wire/rank_endpoint.h"
#include "learner/ranks/make_nccl.h"
#include "learner/ranks/pausing_collective.h"
#include "learner/ranks/rank_state.h"
#include "learner/ranks/shard_message.h"
#include "learner/ranks/step_message.h"
#include "learner/update/make_engine.h"
#include "policy/config/run_config.h"
#include "policy/policy_kinds.h"
#include "policy/simd/kernel_path.h"
#include "simulator/task/task_bundle.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kPollLeader(100);           // Between looks at whether the leader is still there.
constexpr milliseconds kConnectPatience(60'000);   // For a leader to take the connection.
constexpr milliseconds kSendPatience(60'000);      // For room in the queue.
constexpr milliseconds kLastWordsPatience(1'000);  // For a failure to be told.

class Follower final : public Collective {
 public:
  explicit Follower(const RankOptions& options)
      : rank_(options.rank), gpu_(options.gpu), leader_(options.leader), endpoint_(options.leader, options.keys) {}

  void Run() {
    try {
      SayHello();
      const std::optional<RankWelcome> welcome = AwaitWelcome();
      if (welcome) Follow(*welcome);
    } catch (const std::exception& error) {
      endpoint_.Send(RankFailure{error.what()}, gone_ ? milliseconds(0) : kLastWordsPatience);
      throw;
    }
  }

  int64_t rank() const override { return rank_; }
  int64_t ranks() const override { return ranks_; }
  void GatherShards(ShardSums& sums) override {
    if (!endpoint_.Send(RankData{RankDataKind::kShards, step_, SharesOf(rank_, sums)}, kSendPatience)) {
      throw RunFailed(StrCat("the learner at ", leader_, " takes nothing any more"));
    }
  }
  void Broadcast(std::span<float> values) override {
    const std::optional<LeaderMessage> message = Next();
    const auto* const data = message ? std::get_if<RankData>(&*message) : nullptr;
    if (data == nullptr || data->kind != RankDataKind::kSum || data->step != step_) {
      throw RunFailed(StrCat("the learner at ", leader_, " has not sent the sum of step ", step_));
    }
    const std::vector<float> sum = data->arrays.Get<float>("sum");
    if (sum.size() != values.size()) {
      throw RunFailed(StrCat("the learner at ", leader_, " has sent a gradient of ", sum.size(), " numbers, expected ",
                             values.size()));
    }
    std::ranges::copy(sum, values.begin());
  }

 private:
  void CheckLeader() {
    if (const std::optional<std::string> problem = endpoint_.Problem()) {
      gone_ = true;
      throw RunFailed(*problem);
    }
    if (endpoint_.malformed() > 0) {
      throw RunFailed(StrCat("the learner at ", leader_, " has sent a message that makes no sense"));
    }
  }

  // The next message but pings; nullopt: the run is over.
  std::optional<LeaderMessage> Next() {
    while (true) {
      std::optional<LeaderMessage> message = endpoint_.Receive(kPollLeader);
      if (!message) {
        CheckLeader();
        continue;
      }
      if (std::holds_alternative<Stop>(*message)) return std::nullopt;
      if (const auto* const refusal = std::get_if<Refusal>(&*message)) {
        gone_ = true;  // It hears nothing from this rank any more.
        throw BadInput(StrCat("the learner at ", leader_, " refuses this rank: ", refusal->reason));
      }
      if (!std::holds_alternative<RankPing>(*message)) return message;
    }
  }

  void SayHello() {
    const RankHello hello{.rank = static_cast<uint32_t>(rank_),
                          .host = HostName(),
                          .process = static_cast<uint64_t>(::getpid()),
                          .kernel = ToString(BestKernelPath())};
    const Clock::time_point deadline = Clock::now() + kConnectPatience;
    while (!endpoint_.Send(hello, kPollLeader)) {
      CheckLeader();
      if (Clock::now() >= deadline) {
        gone_ = true;
        throw RunFailed(StrCat("no learner answers at ", leader_));
      }
    }
  }

  std::optional<RankWelcome> AwaitWelcome() {
    std::optional<LeaderMessage> message = Next();
    if (!message) return std::nullopt;
    if (auto* const welcome = std::get_if<RankWelcome>(&*message)) return std::move(*welcome);
    throw RunFailed(StrCat("the learner at ", leader_, " has not welcomed this rank"));
  }

  void Follow(const RankWelcome& welcome) {
    const RunConfig config = ParseRunConfig(welcome.config_yaml, "the leader's configuration", "/");
    ranks_ = welcome.ranks;
    if (ranks_ <= rank_ || ranks_ != config.training.ranks) {
      throw RunFailed(StrCat("the learner at ", leader_, " speaks of ", ranks_, " ranks, expected more than ", rank_,
                             ", as training.ranks says, ", config.training.ranks));
    }
    std::vector<PlacementTask> tasks;
    for (const ArrayBundle& task : welcome.tasks) tasks.push_back(TaskFromBundle(task));
    RankState state = RankStateFromBundle(welcome.state);
    const PolicyKind& kind = FindPolicyKind(state.weights.shape.kind);
    const std::unique_ptr<Collective> nccl =
        MakeNccl({.rank = rank_, .config = config, .gpu = gpu_, .check = [this] { CheckLeader(); }}, state.nccl_id);
    PausingCollective collective(nccl ? *nccl : *this, work_);
    const std::unique_ptr<UpdateEngine> engine = MakeEngine(config.training, tasks, state.weights, &collective, gpu_);
    engine->LoadAdam(state.adam);
    LogInfo(StrCat("rank ", rank_, " of ", ranks_, " follows ", leader_, " on ", engine->device()));
    ArrayBundle arrays;  // Of the step at hand.
    while (std::optional<LeaderMessage> message = Next()) {
      auto* const data = std::get_if<RankData>(&*message);
      if (data == nullptr || data->kind != RankDataKind::kStep) {
        throw RunFailed(StrCat("the learner at ", leader_, " has not sent a step"));
      }
      step_ = data->step;
      measuring_ = data->measuring;
      const PausingWork::Unit unit(work_);
      TakeChanges(std::move(data->arrays), arrays);
      const ReceivedStep step(arrays, tasks, kind);
      if (step.values_hash() != HashOfValues(state.weights.values)) {
        throw RunFailed(StrCat("before step ", step_,
                               " its weights are not those of rank 0, expected the same bits: the processors, or the "
                               "programs, of the two are of different kinds"));
      }
      engine->Step(step.inputs(), state.weights.values);
    }
  }

  const int64_t rank_;
  const int32_t gpu_;
  const std::string leader_;
  RankEndpoint endpoint_;
  int64_t ranks_ = 0;
  uint64_t step_ = 0;                    // Of the step at hand.
  bool gone_ = false;                    // There is nobody to tell a failure to.
  std::atomic<bool> measuring_ = false;  // Whether actors of the run measure.
  PausingWork work_{measuring_};
};

}  // namespace

void RunRank(const RankOptions& options) { Follower(options).Run(); }

}  // namespace emplace
