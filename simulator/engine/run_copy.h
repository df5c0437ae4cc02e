// A copy of what one complete run wrote, to which the event loop returns between runs that are tried.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "simulator/engine/run_state.h"

namespace emplace {

// A State lists the data that it writes once in a run: state.VisitHistory(visit) calls visit(std::span<T>) for all of
// it, always the same spans in the same order. Not thread-safe. Only the first Save allocates.
class RunCopy {
 public:
  bool empty() const { return empty_; }
  void Clear() { empty_ = true; }

  template <typename State>
  void Save(State& state, const RunState& run) {
    placement_.resize(run.ops.size());
    for (size_t o = 0; o < placement_.size(); ++o) placement_[o] = run.ops[o].device;
    log_.assign(run.log.begin(), run.log.begin() + static_cast<std::ptrdiff_t>(run.log_size));
    size_t bytes = 0;
    state.VisitHistory([&bytes](auto span) { bytes += span.size_bytes(); });
    history_.resize(bytes);
    char* copy = history_.data();
    state.VisitHistory([&copy](auto span) {
      CopyBytes(copy, span.data(), span.size_bytes());
      copy += span.size_bytes();
    });
    empty_ = false;
  }

  // REQUIRES: !empty().
  template <typename State>
  void Restore(State& state, RunState& run) const {
    for (size_t o = 0; o < placement_.size(); ++o) run.ops[o].device = placement_[o];
    CopyBytes(run.log.data(), log_.data(), log_.size() * sizeof(log_[0]));
    const char* copy = history_.data();
    state.VisitHistory([&copy](auto span) {
      CopyBytes(span.data(), copy, span.size_bytes());
      copy += span.size_bytes();
    });
  }

 private:
  // memcpy takes no null pointer, even for nothing.
  static void CopyBytes(void* to, const void* from, size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }

  bool empty_ = true;
  std::vector<DeviceIndex> placement_;  // [n]
  std::vector<int32_t> log_;            // [events]
  std::vector<char> history_;
};

}  // namespace emplace
