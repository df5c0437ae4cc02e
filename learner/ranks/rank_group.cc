#include "learner/ranks/rank_group.h"

#include <chrono>
#include <utility>

#include "common/error.h"
#include "common/strings.h"
#include "learner/ranks/make_nccl.h"
#include "simulator/task/task_bundle.h"

namespace emplace {
namespace {

constexpr double kJoinLimit_s = 300;  // On a cluster, they may wait for a node to answer.
constexpr std::chrono::milliseconds kEndTimeout(5'000);
constexpr int64_t kPortAfterActors = 2;  // Actors have network.port and the next one.

NetworkOptions NetworkOf(const RunConfig& config, const RunDirectory& dir, bool started_elsewhere) {
  NetworkOptions options;
  options.keys = MakeRankKeys(dir.rank_keys());
  if (!started_elsewhere) return options;
  options.bind = config.network.bind;
  options.advertise = config.network.advertise;
  options.port = config.network.port == 0 ? 0 : static_cast<int>(config.network.port + kPortAfterActors);
  return options;
}

}  // namespace

RankGroup::RankGroup(const RunConfig& config, const RunDirectory& dir, bool started_elsewhere,
                     std::function<void()> while_waiting, PausingWork& updating)
    : leader_({.ranks = config.training.ranks,
               .network = NetworkOf(config, dir, started_elsewhere),
               .join_limit_s = kJoinLimit_s,
               .step_limit_s = config.learner.watchdog_s,
               .while_waiting = std::move(while_waiting),
               .measuring = [&updating] { return updating.measuring(); }}) {
  nccl_id_ = NcclIdFor(config.training);
  by_nccl_ = MakeNccl({.rank = 0, .config = config, .gpu = 0, .check = [this] { leader_.Check(); }}, nccl_id_);
  collective_.emplace(by_nccl_ ? *by_nccl_ : leader_, updating);
  if (started_elsewhere) return;
  processes_.emplace(config.training.ranks, leader_.address(), dir.rank_keys(), dir.log().parent_path());
}

void RankGroup::Admit(const RunConfig& config, const std::vector<PlacementTask>& tasks, RankState state,
                      const std::atomic<bool>& interrupted) {
  RankWelcome welcome;
  welcome.ranks = static_cast<uint32_t>(config.training.ranks);
  welcome.config_yaml = RunConfigToYaml(config);
  for (const PlacementTask& task : tasks) welcome.tasks.push_back(ToBundle(task));
  state.nccl_id = nccl_id_;
  welcome.state = ToBundle(state);
  leader_.Admit(welcome, [&] {
    if (interrupted) throw RunFailed("interrupted before all ranks had joined, so nothing was trained");
    const std::optional<std::string> ended = processes_ ? processes_->FirstEnded() : std::nullopt;
    if (ended) throw RunFailed(*ended);
  });
}

void RankGroup::Stop() {
  leader_.Stop();
  if (processes_) processes_->Wait(kEndTimeout);
}

}  // namespace emplace
