// Snapshots of a run, to which a later run can go back: copies of the run's state, evenly spaced in its events. Their
// number and memory are bounded, and nothing allocates after construction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

namespace emplace {

// A State lists its data: state.VisitState(visit) calls visit(std::span<T>) for all of it, always the same spans in the
// same order, with T trivially copyable.
class RunSnapshots {
 public:
  struct Moment {
    double time_us;  // Time of the last event before the snapshot.
    size_t events;   // Number of events before the snapshot.
  };

  // most_events: upper limit of the events of a run.
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
  // The time of the first snapshot; infinity if there is none.
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

  // Restores the last snapshot before `time_us`, and forgets later ones. REQUIRES: there is one (FirstTimeUs).
  template <typename State>
  Moment GoBack(State& state, double time_us) {
    while (moments_.back().time_us >= time_us) moments_.pop_back();
    next_at_ = (moments_.size() + 1) * interval_;
    return Restore(state, moments_.size() - 1);
  }
  // Restores the last snapshot before `time_us`, and keeps all. REQUIRES: there is one (FirstTimeUs).
  template <typename State>
  Moment Revisit(State& state, double time_us) const {
    size_t index = moments_.size() - 1;
    while (moments_[index].time_us >= time_us) --index;
    return Restore(state, index);
  }

 private:
  template <typename State>
  Moment Restore(State& state, size_t index) const {
    const char* copy = copies_.data() + index * state_bytes_;
    state.VisitState([&copy](auto span) {
      std::memcpy(span.data(), copy, span.size_bytes());
      copy += span.size_bytes();
    });
    return moments_[index];
  }

  // With 64 snapshots a run resumes, on average, less than a hundredth of its events before the first difference. A
  // copy costs as much as two events.
  static constexpr size_t kMost = 64;
  static constexpr size_t kMostBytes = size_t{1} << 18;
  static constexpr size_t kLeastInterval = 64;

  size_t state_bytes_ = 0;
  size_t interval_ = 0;  // Events from one snapshot to the next.
  size_t next_at_ = 0;   // Number of events after which the next snapshot is due.
  std::vector<Moment> moments_;
  std::vector<char> copies_;  // [moments * state_bytes_]
};

}  // namespace emplace
