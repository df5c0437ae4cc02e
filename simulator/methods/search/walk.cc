#include "simulator/methods/search/walk.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "common/error.h"
#include "simulator/methods/search/moves/relief_moves.h"
#include "simulator/methods/search/moves/window_moves.h"

namespace emplace {
namespace {

// From one priority that is tried to the next.
constexpr uint64_t kMovesToPriority = 200;

}  // namespace

struct Walk::Worker {
  Worker(const SearchSpace& space, const ScheduleGraph* graph) : evaluator(space.task()), generator(space) {
    if (graph == nullptr || space.task().HasMicrobatches()) return;
    windows.emplace(space, *graph);
    reliefs.emplace(space, *graph);
  }

  // Makes the placement the base; with a score that is known, or else returns it.
  SearchScore SetBase(const Placement& placement, const SharedPriority& priority) {
    const SearchScore score = evaluator.SetBase(placement, priority);
    NoteRun(placement);
    return score;
  }
  void SetBase(const Placement& placement, const SharedPriority& priority, const SearchScore& score) {
    evaluator.SetBase(placement, priority, score);
    NoteRun(placement);
  }
  void NoteRun(const Placement& placement) {
    if (windows) windows->SetBase(placement, evaluator.timeline());
    if (reliefs) reliefs->SetBase(evaluator.timeline());
  }

  TrialEvaluator evaluator;
  MoveGenerator generator;
  std::optional<WindowMoves> windows;  // Without orders, or with micro-batches: none of these.
  std::optional<ReliefMoves> reliefs;
  uint64_t version = 0;  // Of the evaluator's base.
};

Walk::Walk(const SearchSpace& space, SearchLimit& limit, ThreadTeam& team, uint64_t seed,
           const ScheduleGraph* priorities)
    : limit_(limit),
      team_(team),
      rng_(Rng(seed).Fork("walk")),
      priorities_(priorities),
      lookahead_(static_cast<size_t>(team.size())),
      trials_(lookahead_.most()) {
  for (int thread = 0; thread < team.size(); ++thread) workers_.push_back(std::make_unique<Worker>(space, priorities));
}

Walk::~Walk() = default;

void Walk::Start(const Placement& placement, const SharedPriority& priority) {
  Worker& worker = *workers_[0];
  current_.placement = placement;
  current_.priority = priority;
  if (priorities_ != nullptr && priority == nullptr)
    current_.priority = std::make_shared<const Priority>(PriorityByRank(*priorities_, placement));
  current_.score = worker.SetBase(current_.placement, current_.priority);
  worker.version = ++version_;
  limit_.Count(1);
  if (best_.placement.empty()) best_ = current_;
  KeepIfBest();
}

void Walk::ReturnToBest() {
  if (current_.score == best_.score) return;
  current_ = best_;
  ++version_;
}

void Walk::Run(const WalkStage& stage) {
  EMPLACE_CHECK(!current_.placement.empty());
  const double begin = limit_.Progress();
  const auto temperature_us = [&](size_t ahead) {
    const double part = (limit_.Progress(static_cast<int64_t>(ahead)) - begin) / (stage.until - begin);
    return best_.score.makespan_us * stage.hot * std::pow(stage.cold / stage.hot, std::min(1.0, part));
  };
  uint64_t next_priority = number_;
  while (limit_.Progress() < stage.until) {
    if (priorities_ != nullptr && number_ >= next_priority) {
      TryPriority(temperature_us(0));
      next_priority = number_ + kMovesToPriority;
      continue;
    }
    // No further ahead than the stage goes, and not past the next priority.
    size_t count = 1;
    size_t ahead = lookahead_.count();
    if (priorities_ != nullptr) ahead = std::min(ahead, static_cast<size_t>(next_priority - number_));
    while (count < ahead && limit_.Progress(static_cast<int64_t>(count)) < stage.until) ++count;
    std::atomic<size_t> taken = count;  // The first trial that is taken.
    team_.ForEach(count, [&](size_t thread, size_t i) {
      if (i > taken) return;
      Evaluate(*workers_[thread], stage, i, temperature_us(i));
      size_t first = taken;
      while (trials_[i].score && i < first && !taken.compare_exchange_weak(first, i)) {
      }
    });
    const size_t used = std::min(count, taken + 1);
    number_ += used;
    limit_.Count(static_cast<int64_t>(used));
    if (taken < count) Take(trials_[taken].move, *trials_[taken].score);
    lookahead_.Observe(used, taken < count);
    report_();
  }
}

// A move that makes the makespan longer is taken with probability exp(-increase / temperature).
double Walk::DrawLimitUs(Rng& rng, double temperature_us) const {
  return current_.score.makespan_us - temperature_us * std::log(1 - rng.Uniform());
}

void Walk::CatchUp(Worker& worker) {
  if (worker.version == version_) return;
  worker.SetBase(current_.placement, current_.priority, current_.score);
  worker.version = version_;
}

void Walk::Evaluate(Worker& worker, const WalkStage& stage, size_t ahead, double temperature_us) {
  CatchUp(worker);
  Rng rng = RngOfMove(ahead);
  Trial& trial = trials_[ahead];
  GiveUp when = GiveUp::kWhenLikely;
  if (worker.reliefs && rng.Uniform() < stage.mix.relief) {
    worker.reliefs->Draw(rng, worker.evaluator.base(), trial.move);
    when = GiveUp::kWhenCertain;  // Of these the forecast takes most of the good ones for bad.
  } else if (worker.windows && rng.Uniform() < stage.mix.window) {
    worker.windows->Draw(rng, worker.evaluator.LatestStartsUs(), trial.move);
  } else {
    worker.generator.Draw(rng, stage.level, stage.mix, worker.evaluator.base(), trial.move);
  }
  const double limit_us = DrawLimitUs(rng, temperature_us);
  trial.score = trial.move.empty() ? std::nullopt : worker.evaluator.Try(trial.move, limit_us, when);
}

void Walk::TryPriority(double temperature_us) {
  Worker& worker = *workers_[0];
  CatchUp(worker);
  Rng rng = RngOfMove(0);
  const double limit_us = DrawLimitUs(rng, temperature_us);
  auto priority =
      std::make_shared<const Priority>(rank_next_ ? PriorityByRank(*priorities_, current_.placement)
                                                  : ByTime(priorities_->task().sim, worker.evaluator.LatestStartsUs()));
  rank_next_ = !rank_next_;
  const SearchScore score = worker.SetBase(current_.placement, priority);
  ++number_;
  limit_.Count(1);
  ++version_;
  if (!MayTake(score, current_.score, limit_us)) return;
  worker.version = version_;
  current_.priority = std::move(priority);
  current_.score = score;
  KeepIfBest();
}

void Walk::Take(const Move& move, const SearchScore& score) {
  for (const OpMove& to : move) current_.placement[static_cast<size_t>(to.op)] = to.device;
  current_.score = score;
  ++version_;
  KeepIfBest();
}

void Walk::KeepIfBest() {
  if (current_.score < best_.score) best_ = current_;
}

}  // namespace emplace
