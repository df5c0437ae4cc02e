#include "actor/control_exchange.h"

#include <utility>

namespace emplace {
namespace {

constexpr size_t kMostMeasureRequests = 64;  // That wait; a learner asks for few.

}  // namespace

ControlState ControlExchange::state() const {
  const MutexLock lock(mu_);
  return state_;
}

ControlState ControlExchange::WaitForChange(const ControlState& seen, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const MutexLock lock(mu_);
  while (state_.session == seen.session && state_.weights == seen.weights && state_.work == seen.work &&
         state_.measuring == seen.measuring && state_.sequence_limit == seen.sequence_limit &&
         state_.ending.has_value() == seen.ending.has_value()) {
    if (!changed_.WaitUntil(mu_, deadline)) break;
  }
  return state_;
}

void ControlExchange::Report(const ActorProgress& progress) {
  const MutexLock lock(mu_);
  progress_ = progress;
}

ActorProgress ControlExchange::progress() const {
  const MutexLock lock(mu_);
  return progress_;
}

void ControlExchange::AskForWork() {
  const MutexLock lock(mu_);
  work_wanted_ = true;
}

bool ControlExchange::TakeWorkWanted() {
  const MutexLock lock(mu_);
  return std::exchange(work_wanted_, false);
}

std::optional<MeasureRequest> ControlExchange::TakeMeasureRequest() {
  const MutexLock lock(mu_);
  if (measure_requests_.empty()) return std::nullopt;
  MeasureRequest request = std::move(measure_requests_.front());
  measure_requests_.pop_front();
  return request;
}

void ControlExchange::Answer(const MeasureReply& reply) {
  const MutexLock lock(mu_);
  measure_replies_.push_back(reply);
}

std::vector<MeasureReply> ControlExchange::TakeMeasureReplies() {
  const MutexLock lock(mu_);
  return std::exchange(measure_replies_, {});
}

void ControlExchange::SayGoodbye(const ActorKey& actor, uint64_t produced) {
  const MutexLock lock(mu_);
  goodbyes_.push_back({actor, produced});
}

void ControlExchange::Leave() {
  const MutexLock lock(mu_);
  leaving_ = true;
}

std::pair<std::vector<Goodbye>, bool> ControlExchange::TakeGoodbyes() {
  const MutexLock lock(mu_);
  return {std::exchange(goodbyes_, {}), leaving_};
}

void ControlExchange::Publish(std::shared_ptr<const Session> session) {
  const MutexLock lock(mu_);
  state_.session = std::move(session);
  state_.weights = nullptr;
  state_.work = nullptr;
  state_.sequence_limit = 0;
  measure_requests_.clear();
  measure_replies_.clear();
  changed_.NotifyAll();
}

void ControlExchange::Publish(const Notice& notice) {
  const MutexLock lock(mu_);
  state_.measuring = notice.measuring;
  state_.sequence_limit = notice.sequence_limit;
  changed_.NotifyAll();
}

void ControlExchange::Publish(MeasureRequest request) {
  const MutexLock lock(mu_);
  if (measure_requests_.size() < kMostMeasureRequests) measure_requests_.push_back(std::move(request));
}

void ControlExchange::Publish(std::shared_ptr<const PolicyWeights> weights) {
  const MutexLock lock(mu_);
  state_.weights = std::move(weights);
  state_.work = nullptr;
  changed_.NotifyAll();
}

void ControlExchange::Publish(std::shared_ptr<const Work> work) {
  const MutexLock lock(mu_);
  state_.work = std::move(work);
  changed_.NotifyAll();
}

void ControlExchange::End(ControlState::Ending ending) {
  const MutexLock lock(mu_);
  if (!state_.ending) state_.ending = std::move(ending);
  changed_.NotifyAll();
}

}  // namespace emplace
