#include "simulator/methods/search/moves/relief_moves.h"

#include <algorithm>
#include <cmath>

namespace emplace {
namespace {

// The run is cut into so many cells of equal length. As many before and after that of an op say how busy a device is.
constexpr size_t kCells = 256;
constexpr size_t kCellsAround = 8;
// A cell with more ops than this has them sorted: where one op takes most of the run, nearly all others are in one
// cell.
constexpr size_t kFewOps = 64;
// The chance that any other device is drawn, and else the deviation of the logarithm by which devices seem more or less
// busy than they are.
constexpr double kAnyDevice = 0.2;
constexpr double kNoise = 0.5;
// Between times of a run that are equal but for rounding, us.
constexpr double kRoundingUs = 1e-6;

}  // namespace

ReliefMoves::ReliefMoves(const SearchSpace& space, const ScheduleGraph& graph)
    : space_(space), graph_(graph), sim_(graph.task().sim) {}

void ReliefMoves::SetBase(const Timeline& run) {
  makespan_us_ = run.makespan_us;
  start_us_ = run.start_us;
  finish_us_ = run.finish_us;
  seen_ = false;
}

void ReliefMoves::LookAtRun(std::span<const DeviceIndex> placement) {
  const size_t cells = static_cast<size_t>(sim_.num_devices) * kCells;
  started_ = CsrFromPairs(static_cast<int32_t>(cells), [&](const auto& visit) {
    for (OpIndex op = 0; op < sim_.num_ops; ++op) {
      const auto o = static_cast<size_t>(op);
      if (finish_us_[o] > start_us_[o]) visit(static_cast<int32_t>(CellOf(placement[o], start_us_[o])), op);
    }
  });
  busy_us_.assign(cells, 0);
  const auto start_us = [this](OpIndex op) { return start_us_[static_cast<size_t>(op)]; };
  for (size_t cell = 0; cell < cells; ++cell) {
    const std::span row = std::span(started_.items)
                              .subspan(static_cast<size_t>(started_.begin[cell]),
                                       static_cast<size_t>(started_.begin[cell + 1] - started_.begin[cell]));
    for (const OpIndex op : row) busy_us_[cell] += finish_us_[static_cast<size_t>(op)] - start_us(op);
    if (row.size() > kFewOps) std::ranges::stable_sort(row, {}, start_us);
  }
  FindChain(placement);
  seen_ = true;
}

size_t ReliefMoves::CellOf(DeviceIndex device, double us) const {
  const size_t cell = makespan_us_ > 0 ? static_cast<size_t>(us / makespan_us_ * kCells) : 0;
  return static_cast<size_t>(device) * kCells + std::min(cell, kCells - 1);
}

OpIndex ReliefMoves::LastBefore(std::span<const OpIndex> cell, double us) const {
  const auto start_us = [this](OpIndex op) { return start_us_[static_cast<size_t>(op)]; };
  if (cell.size() > kFewOps) {
    const auto end = std::ranges::lower_bound(cell, us, {}, start_us);
    if (end == cell.begin()) return -1;
    return *std::ranges::lower_bound(cell.begin(), end, start_us(*(end - 1)), {}, start_us);
  }
  OpIndex before = -1;
  for (const OpIndex other : cell) {
    if (start_us(other) < us && (before < 0 || start_us(other) > start_us(before))) before = other;
  }
  return before;
}

OpIndex ReliefMoves::Before(OpIndex op, DeviceIndex device) const {
  const double start_us = start_us_[static_cast<size_t>(op)];
  const size_t first = CellOf(device, 0);
  for (size_t cell = CellOf(device, start_us) + 1; cell-- > first;) {
    const OpIndex before = LastBefore(started_.Row(static_cast<int32_t>(cell)), start_us);
    if (before < 0) continue;
    const double free_us = finish_us_[static_cast<size_t>(before)] + sim_.op_overhead_us;
    return free_us >= start_us - kRoundingUs ? before : -1;
  }
  return -1;
}

OpIndex ReliefMoves::LastProducer(OpIndex op) const {
  OpIndex last = -1;
  for (const int32_t tensor : graph_.InputsOf(op)) {
    const OpIndex producer = graph_.ProducerOf(tensor);
    if (last < 0 || finish_us_[static_cast<size_t>(producer)] > finish_us_[static_cast<size_t>(last)]) last = producer;
  }
  return last;
}

void ReliefMoves::FindChain(std::span<const DeviceIndex> placement) {
  chain_.clear();
  chain_us_.clear();
  double sum_us = 0;
  auto op = static_cast<OpIndex>(std::ranges::max_element(finish_us_) - finish_us_.begin());
  while (op >= 0) {
    const auto o = static_cast<size_t>(op);
    const OpIndex before = Before(op, placement[o]);
    if (before >= 0) {
      chain_.push_back(op);
      chain_us_.push_back(sum_us += finish_us_[o] - start_us_[o]);
    }
    op = before >= 0 ? before : LastProducer(op);
  }
}

std::span<const OpIndex> ReliefMoves::Chain(std::span<const DeviceIndex> placement) {
  if (!seen_) LookAtRun(placement);
  return chain_;
}

void ReliefMoves::Draw(Rng& rng, std::span<const DeviceIndex> placement, Move& move) {
  move.clear();
  if (Chain(placement).empty()) return;
  const OpIndex op = DrawOp(rng);
  const SearchLevel& groups = OneOf(rng, space_.levels());
  const GroupIndex group = groups.group_of_op[static_cast<size_t>(op)];
  const DeviceIndex from = placement[static_cast<size_t>(op)];
  for (const OpIndex member : groups.ops.Row(group)) {
    if (placement[static_cast<size_t>(member)] == from) move.push_back({member, from});
  }
  const DeviceIndex to = DrawDevice(rng, groups, group, from, start_us_[static_cast<size_t>(op)], move);
  if (to < 0) return move.clear();
  for (OpMove& member : move) member.device = to;
}

OpIndex ReliefMoves::DrawOp(Rng& rng) const {
  const auto at = std::ranges::upper_bound(chain_us_, rng.Uniform() * chain_us_.back()) - chain_us_.begin();
  return chain_[std::min(static_cast<size_t>(at), chain_.size() - 1)];
}

DeviceIndex ReliefMoves::DrawDevice(Rng& rng, const SearchLevel& level, GroupIndex group, DeviceIndex from,
                                    double at_us, std::span<const OpMove> ops) const {
  const bool any = rng.Uniform() < kAnyDevice;
  DeviceIndex best = -1;
  double best_us = 0;
  for (DeviceIndex device = 0; device < sim_.num_devices; ++device) {
    if (device == from || !level.Allowed(group, device)) continue;
    double us = std::exp(kNoise * rng.Normal());
    if (!any) {
      const size_t begin = CellOf(device, 0);
      const size_t cell = CellOf(device, at_us);
      const size_t last = std::min(cell + kCellsAround, begin + kCells - 1);
      double busy_us = 0;
      for (size_t c = std::max(cell, begin + kCellsAround) - kCellsAround; c <= last; ++c) busy_us += busy_us_[c];
      us *= busy_us;
      for (const OpMove& member : ops) us += sim_.BusyUs(member.op, device);
    }
    if (best >= 0 && us >= best_us) continue;
    best = device;
    best_us = us;
  }
  return best;
}

}  // namespace emplace
