#include "tools/bench/scaling/front_end_bench.h"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "common/error.h"
#include "common/strings.h"
#include "common/wire/actor_endpoint.h"
#include "learner/intake/best_placements.h"
#include "learner/intake/placement_episodes.h"
#include "learner/pipeline/front_end.h"
#include "learner/run_clock.h"
#include "policy/config/run_config.h"
#include "policy/placeto/placeto_kind.h"
#include "policy/policy_weights.h"
#include "tools/bench/harness/inputs.h"
#include "tools/bench/scaling/thread_times.h"

namespace emplace::bench {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kPatience(30'000);

// An actor that only sends.
class Player {
 public:
  Player(const std::string& address, int number) : control_(address) {
    const Hello hello{kProtocolVersion, StrCat("player-", number), static_cast<uint64_t>(number)};
    while (!control_.Send(hello)) std::this_thread::sleep_for(milliseconds(1));  // Not connected yet.
    std::optional<Welcome> welcome;
    while (!welcome) {
      const auto received = control_.Receive(kPatience);
      EMPLACE_CHECK(received.has_value());
      if (const auto* const found = std::get_if<Welcome>(&*received)) welcome = *found;
    }
    key_ = welcome->actor;
    socket_ = std::make_unique<TrajectorySocket>(welcome->trajectories_endpoint, /*queue=*/4);
  }

  void Send(Trajectory& episode) {
    episode.actor = key_;
    episode.sequence = ++produced_;
    EMPLACE_CHECK(socket_->Send(episode, kPatience));
  }
  void Leave() {
    socket_->Close(kPatience);
    control_.Send(Goodbye{key_, produced_});
  }

 private:
  ActorEndpoint control_;
  ActorKey key_;
  uint64_t produced_ = 0;
  std::unique_ptr<TrajectorySocket> socket_;
};

struct Replay {
  double steps = 0;
  double seconds = 0;                  // By the clock.
  std::map<std::string, double> busy;  // Seconds of the front end's threads, by name.
};

Replay Run(const std::vector<PlacementTask>& tasks, const std::shared_ptr<const PolicyWeights>& weights,
           std::vector<Trajectory> episodes, int actors, int64_t sent) {
  RunConfig config;
  config.learner.actor_timeout_s = 600;  // The players send no heartbeats.
  Ledger ledger;
  StageClocks clocks;
  const std::set<ThreadId> others = LiveThreads();
  const RunClock clock(0);
  BestPlacements placements(tasks, PlacetoKind(), config.environment, clock);
  ActorSessions sessions(tasks, config, ledger, {});
  WeightsBroadcast broadcast(weights, sessions);
  const PlacementEpisodes rules(tasks, config, placements);
  TrajectoryIntake intake(rules, tasks, config, ledger, sessions, clocks[Stage::kCheck]);
  FrontEnd front_end(config.network, sessions, broadcast, intake, clocks);
  std::set<ThreadId> threads = LiveThreads();
  for (const ThreadId other : others) threads.erase(other);
  std::vector<std::unique_ptr<Player>> players;
  for (int i = 0; i < actors; ++i) players.push_back(std::make_unique<Player>(front_end.address(), i));

  Replay replay;
  const std::map<ThreadId, ThreadTime> before = TimesOf(threads);
  const auto begin = std::chrono::steady_clock::now();
  {
    std::jthread sender([&] {
      for (int64_t i = 0; i < sent; ++i) {
        players[static_cast<size_t>(i % actors)]->Send(episodes[static_cast<size_t>(i) % episodes.size()]);
      }
    });
    for (int64_t i = 0; i < sent; ++i) {
      const std::optional<Episode> episode = front_end.Pop(kPatience);
      EMPLACE_CHECK(episode.has_value());
      ledger.CountTrained(episode->trajectory.actor);
      replay.steps += static_cast<double>(episode->trajectory.actions.size());
    }
  }
  replay.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const auto& [thread, now] : TimesOf(threads)) {
    const double seconds = now.seconds - before.at(thread).seconds;
    if (seconds > 0) replay.busy[now.name] += seconds;  // Some only wait.
  }
  for (const auto& player : players) player->Leave();
  front_end.Finish(kPatience);

  const LedgerCounts total = ledger.Total();
  const FrontEndStats stats = front_end.stats();
  EMPLACE_CHECK(total.produced == static_cast<uint64_t>(sent) && total.trained == total.produced);
  EMPLACE_CHECK(total.lost == 0 && total.rejected == 0 && total.stale == 0);
  EMPLACE_CHECK(stats.duplicates == 0 && stats.malformed == 0 && stats.episodes == sent);
  return replay;
}

// `table`: what the figures' names begin with.
void AddFigures(const std::string& table, const std::vector<PlacementTask>& tasks, int64_t sent, const Effort& effort,
                std::vector<Figure>& figures) {
  const auto weights = std::make_shared<const PolicyWeights>(InitialWeights(tasks[0].groups.num_devices));
  const std::vector<Trajectory> episodes = PlayEpisodes(tasks, weights, 64);
  for (const int actors : {1, 8, 64}) {
    std::vector<double> rates;
    std::map<std::string, std::vector<double>> rates_of_threads;
    for (int i = 0; i < effort.Repetitions(3); ++i) {
      const Replay replay = Run(tasks, weights, episodes, actors, effort.quick ? 500 : sent);
      rates.push_back(replay.steps / replay.seconds);
      for (const auto& [name, seconds] : replay.busy) rates_of_threads[name].push_back(replay.steps / seconds);
    }
    const std::string row = StrCat(table, "|", actors, "|");
    figures.push_back(Summarize(row + "received", "steps/s", rates));
    for (const auto& [name, samples] : rates_of_threads) {
      figures.push_back(Summarize(StrCat(row, "thread ", name), "steps per s of its time", samples));
    }
  }
}

}  // namespace

std::vector<Figure> FrontEndFigures(const Effort& effort) {
  std::vector<Figure> figures;
  AddFigures("front end, ptb", FamilyTasks("ptb", 20, "k80x2"), 5'000, effort, figures);
  constexpr int32_t kGroups = 128;
  const std::vector<PlacementTask> small = {
      PlacementTask::MakeForEpisodes(RandomDag(Rng(1).Fork("small"), kGroups), PlainCluster(2), kGroups)};
  AddFigures("front end, one op a group", small, 20'000, effort, figures);
  return figures;
}

}  // namespace emplace::bench
