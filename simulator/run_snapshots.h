// Moments of a run to go back to: copies of what a run changes, evenly spaced in its events. Their number and memory
// are bounded, and nothing allocates after construction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

namespace emplace {

// A State lists all that it is made of: state.VisitState(visit) calls visit(std::span<T>), always the same spans in the
// same order, and T is trivially copyable.
class RunSnapshots {
 public:
  struct Moment {
    double time_us;  // Of the last event before it.
    size_t events;   // That came before it.
  };

  // Of runs of at most so many events.
  template <typename State>
  RunSnapshots(State& state, size_t most_events) {
    state.VisitState([this](auto span) { state_bytes_ += span.size_bytes(); });
    const size_t capacity = std::min(kMost, kMostBytes / std::max<size_t>(state_bytes_, 1));
    interval_ =
        capacity == 0 ? std::numeric_limits<size_t>::max() : std::max(kLeastInterval, most_events / capacity + 1);
    moments_.reserve(capacity);
    copies_.resize(std::min(capacity, most_events / interval_) * state_bytes_);
    Clear();
  }

  void Clear() { moments_.clear(), next_at_ = interval_; }
  // When the first was taken; infinity where there is none.
  double FirstTimeUs() const {
    return moments_.empty() ? std::numeric_limits<double>::infinity() : moments_[0].time_us;
  }

  bool IsDue(size_t events) const { return events == next_at_; }
  template <typename State>
  void Take(State& state, const Moment& moment) {
    char* copy = copies_.data() + moments_.size() * state_bytes_;
    state.VisitState([&copy](auto span) {
      static_assert(std::is_trivially_copyable_v<typename decltype(span)::element_type>);
      std::memcpy(copy, span.data(), span.size_bytes());
      copy += span.size_bytes();
    });
    moments_.push_back(moment);
    next_at_ += interval_;
  }

  // Brings back the last moment before `time_us`, with which later ones are forgotten. REQUIRES: FirstTimeUs() <
  // time_us.
  template <typename State>
  Moment GoBack(State& state, double time_us) {
    while (moments_.back().time_us >= time_us) moments_.pop_back();
    next_at_ = (moments_.size() + 1) * interval_;
    const char* copy = copies_.data() + (moments_.size() - 1) * state_bytes_;
    state.VisitState([&copy](auto span) {
      std::memcpy(span.data(), copy, span.size_bytes());
      copy += span.size_bytes();
    });
    return moments_.back();
  }

 private:
  // On average a run resumes half an interval before what differs: within a hundredth of it. A copy costs as much as
  // two events.
  static constexpr size_t kMost = 64;
  static constexpr size_t kMostBytes = size_t{1} << 18;
  static constexpr size_t kLeastInterval = 64;

  size_t state_bytes_ = 0;
  size_t interval_ = 0;  // Events from one to the next.
  size_t next_at_ = 0;   // Events after which the next one is due.
  std::vector<Moment> moments_;
  std::vector<char> copies_;  // [moments * state_bytes_]
};

}  // namespace emplace
