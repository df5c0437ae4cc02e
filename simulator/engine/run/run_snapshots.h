// Snapshots of a run, to which a later run can go back: copies of the run's state, evenly spaced in its events. Their
// number and memory are bounded, and nothing allocates after construction, but for AllowBranches.
//
// A search tries runs that branch off from a snapshot of one run, the base. The base's snapshots stay while a branch
// takes its own, and in the end the branch is forgotten, or becomes the base.
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
    capacity_ = std::min(capacity, most_events / interval_);
    run_.reserve(capacity_);
    AddCopies();
    Clear();
  }

  void Clear() { Forget(run_, 0), next_at_ = interval_; }
  // The time of the first snapshot; infinity if there is none.
  double FirstTimeUs() const { return run_.empty() ? std::numeric_limits<double>::infinity() : run_[0].moment.time_us; }

  bool IsDue(size_t events) const { return events >= next_at_; }
  // Takes a snapshot of the branch, if there is one.
  template <typename State>
  void Take(State& state, const Moment& moment) {
    const size_t copy = unused_.back();
    unused_.pop_back();
    (branched_ ? branch_ : run_).push_back({moment, copy});
    char* to = copies_.data() + copy * state_bytes_;
    state.VisitState([&to](auto span) {
      static_assert(std::is_trivially_copyable_v<typename decltype(span)::element_type>);
      std::memcpy(to, span.data(), span.size_bytes());
      to += span.size_bytes();
    });
    next_at_ = NextAfter(moment);
  }

  // Restores the last snapshot before `time_us`, and forgets later ones. REQUIRES: there is one (FirstTimeUs), and no
  // branch.
  template <typename State>
  Moment GoBack(State& state, double time_us) {
    Forget(run_, NumBefore(time_us));
    next_at_ = NextAfter(run_.back().moment);
    return Restore(state, run_.back());
  }

  // Allocates what branches need. REQUIRES: was not called before.
  void AllowBranches() {
    branch_.reserve(capacity_);
    AddCopies();
  }
  // Restores the last snapshot before `time_us`; a branch begins there. REQUIRES: there is one (FirstTimeUs), no branch
  // has begun, and AllowBranches was called.
  template <typename State>
  Moment Branch(State& state, double time_us) {
    BeginBranch(NumBefore(time_us));
    return Restore(state, run_[shared_ - 1]);
  }
  // A branch begins at the start of the run.
  void BranchAtStart() { BeginBranch(0); }
  // Forgets the branch, if there is one.
  void LeaveBranch() {
    Forget(branch_, 0);
    branched_ = false;
  }
  // The branch becomes the run. REQUIRES: there is a branch.
  void KeepBranch() {
    Forget(run_, shared_);
    run_.insert(run_.end(), branch_.begin(), branch_.end());
    branch_.clear();
    branched_ = false;
  }

 private:
  struct Snapshot {
    Moment moment;
    size_t copy;  // Which one of copies_.
  };

  void AddCopies() {
    const size_t first = num_copies_;
    num_copies_ += capacity_;
    copies_.resize(num_copies_ * state_bytes_);
    unused_.reserve(num_copies_);
    for (size_t copy = first; copy < num_copies_; ++copy) unused_.push_back(copy);
  }
  size_t NumBefore(double time_us) const {
    size_t count = run_.size();
    while (run_[count - 1].moment.time_us >= time_us) --count;
    return count;
  }
  // When the next one is due: at a multiple of the interval that has had none.
  size_t NextAfter(const Moment& last) const { return (last.events / interval_ + 1) * interval_; }
  void BeginBranch(size_t shared) {
    shared_ = shared;
    branched_ = true;
    next_at_ = shared_ == 0 ? interval_ : NextAfter(run_[shared_ - 1].moment);
  }
  // Forgets all but the first `left` snapshots.
  void Forget(std::vector<Snapshot>& snapshots, size_t left) {
    for (; snapshots.size() > left; snapshots.pop_back()) unused_.push_back(snapshots.back().copy);
  }
  template <typename State>
  Moment Restore(State& state, const Snapshot& snapshot) const {
    const char* copy = copies_.data() + snapshot.copy * state_bytes_;
    state.VisitState([&copy](auto span) {
      std::memcpy(span.data(), copy, span.size_bytes());
      copy += span.size_bytes();
    });
    return snapshot.moment;
  }

  // With 64 snapshots a run resumes, on average, less than a hundredth of its events before the first difference. A
  // copy costs as much as two events.
  static constexpr size_t kMost = 64;
  static constexpr size_t kMostBytes = size_t{1} << 20;
  static constexpr size_t kLeastInterval = 64;

  size_t state_bytes_ = 0;
  size_t interval_ = 0;           // Events from one snapshot to the next.
  size_t capacity_ = 0;           // Most snapshots of a run.
  size_t next_at_ = 0;            // Number of events after which the next snapshot is due.
  std::vector<Snapshot> run_;     // Of the run, or of the base.
  bool branched_ = false;         // Whether there is a branch.
  size_t shared_ = 0;             // The branch shares as many of the base's snapshots,
  std::vector<Snapshot> branch_;  // and has these of its own.
  size_t num_copies_ = 0;
  std::vector<char> copies_;    // [num_copies_ * state_bytes_]
  std::vector<size_t> unused_;  // The copies that no snapshot has.
};

}  // namespace emplace
