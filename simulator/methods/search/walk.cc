#include "simulator/methods/search/walk.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "common/error.h"

namespace emplace {

struct Walk::Worker {
  Worker(const SearchSpace& space, std::unique_ptr<MoveEvaluator> own) : evaluator(std::move(own)), generator(space) {}

  std::unique_ptr<MoveEvaluator> evaluator;
  MoveGenerator generator;
  uint64_t version = 0;  // Of the evaluator's base.
};

Walk::Walk(const SearchSpace& space, SearchLimit& limit, ThreadTeam& team, uint64_t seed,
           const std::function<std::unique_ptr<MoveEvaluator>()>& make_evaluator)
    : limit_(limit),
      team_(team),
      rng_(Rng(seed).Fork("walk")),
      lookahead_(static_cast<size_t>(team.size())),
      trials_(lookahead_.most()) {
  for (int thread = 0; thread < team.size(); ++thread)
    workers_.push_back(std::make_unique<Worker>(space, make_evaluator()));
}

Walk::~Walk() = default;

void Walk::Start(const Placement& placement) {
  current_ = placement;
  current_score_ = workers_[0]->evaluator->SetBase(current_);
  workers_[0]->version = ++version_;
  limit_.Count(1);
  if (best_.empty() || current_score_ < best_score_) {
    best_ = current_;
    best_score_ = current_score_;
  }
}

void Walk::ReturnToBest() {
  if (current_score_ == best_score_) return;
  current_ = best_;
  current_score_ = best_score_;
  ++version_;
}

void Walk::Run(const WalkStage& stage) {
  EMPLACE_CHECK(!current_.empty());
  const double begin = limit_.Progress();
  const auto temperature_us = [&](size_t ahead) {
    const double part = (limit_.Progress(static_cast<int64_t>(ahead)) - begin) / (stage.until - begin);
    return best_score_.makespan_us * stage.hot * std::pow(stage.cold / stage.hot, std::min(1.0, part));
  };
  while (limit_.Progress() < stage.until) {
    // No further ahead than the stage goes.
    size_t count = 1;
    const size_t ahead = lookahead_.count();
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

void Walk::Evaluate(Worker& worker, const WalkStage& stage, size_t ahead, double temperature_us) {
  if (worker.version != version_) {
    worker.evaluator->SetBase(current_, current_score_);
    worker.version = version_;
  }
  Rng rng = rng_.Fork("move", number_ + ahead);
  Trial& trial = trials_[ahead];
  worker.generator.Draw(rng, stage.level, stage.mix, worker.evaluator->base(), trial.move);
  // A move that makes the makespan longer is taken with probability exp(-increase / temperature).
  const double limit_us = current_score_.makespan_us - temperature_us * std::log(1 - rng.Uniform());
  trial.score = trial.move.empty() ? std::nullopt : worker.evaluator->Try(trial.move, limit_us);
}

void Walk::Take(const Move& move, const SearchScore& score) {
  for (const OpMove& to : move) current_[static_cast<size_t>(to.op)] = to.device;
  current_score_ = score;
  ++version_;
  if (current_score_ < best_score_) {
    best_ = current_;
    best_score_ = current_score_;
  }
}

}  // namespace emplace
