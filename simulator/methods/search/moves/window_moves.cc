#include "simulator/methods/search/moves/window_moves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "simulator/engine/free_sources.h"

namespace emplace {
namespace {

// Units of a window: from 2^2 to 2^8, each power as likely.
constexpr double kLeastDoublings = 2;
constexpr double kMostDoublings = 8;
// Of the windows decided with noise, which is up to twice as long as a unit takes.
constexpr double kNoisy = 0.5;
constexpr double kMostNoise = 2;

}  // namespace

WindowMoves::WindowMoves(const SearchSpace& space, const ScheduleGraph& graph)
    : graph_(graph),
      sim_(graph.task().sim),
      units_(space.levels().front()),
      is_free_(FreeSources(sim_)),
      pending_(static_cast<size_t>(units_.num_groups())),
      device_free_us_(static_cast<size_t>(sim_.num_devices)),
      link_free_us_(device_free_us_.size()) {}

void WindowMoves::SetBase(const Placement& placement, const Timeline& run) {
  makespan_us_ = run.makespan_us;
  start_us_ = run.start_us;
  finish_us_ = run.finish_us;
  device_ = placement;
}

void WindowMoves::Draw(Rng& rng, std::span<const double> latest_us, Move& move) {
  move.clear();
  undo_.clear();
  DrawWindow(rng);
  const double unit_us = length_us_ * sim_.num_devices / static_cast<double>(1 + window_.size());
  const double noise_us = rng.Uniform() < kNoisy ? kMostNoise * rng.Uniform() * unit_us : 0;
  for (const GroupIndex unit : window_) Decide(unit, noise_us, rng, latest_us);
  MoveParameters();
  for (const Undo& was : undo_) {
    const auto o = static_cast<size_t>(was.op);
    if (device_[o] != was.device) move.push_back({was.op, device_[o]});
    device_[o] = was.device;
    finish_us_[o] = was.finish_us;
  }
}

void WindowMoves::DrawWindow(Rng& rng) {
  const auto any = static_cast<size_t>(rng.UniformInt(0, sim_.num_ops - 1));
  const double doublings = kLeastDoublings + (kMostDoublings - kLeastDoublings) * rng.Uniform();
  length_us_ = std::exp2(doublings) * makespan_us_ / sim_.num_ops;
  const double begin_us = start_us_[any];
  const double end_us = begin_us + length_us_;
  std::ranges::fill(device_free_us_, 0);
  std::ranges::fill(link_free_us_, 0);
  window_.clear();
  for (size_t o = 0; o < start_us_.size(); ++o) {
    if (start_us_[o] >= end_us) continue;
    if (start_us_[o] < begin_us) {
      double& free_us = device_free_us_[static_cast<size_t>(device_[o])];
      free_us = std::max(free_us, finish_us_[o]);
    } else if (is_free_[o] == 0) {
      const GroupIndex unit = units_.group_of_op[o];
      uint8_t& pending = pending_[static_cast<size_t>(unit)];
      if (pending == 1) continue;
      pending = 1;
      window_.push_back(unit);
    }
  }
  // A unit of which a part runs outside of the window stays where it is.
  const auto start_us = [&](GroupIndex unit) {
    double first_us = std::numeric_limits<double>::infinity();
    for (const OpIndex op : units_.ops.Row(unit)) {
      if (is_free_[static_cast<size_t>(op)] == 0) first_us = std::min(first_us, start_us_[static_cast<size_t>(op)]);
    }
    return first_us;
  };
  const auto stays = [&](GroupIndex unit) {
    return std::ranges::any_of(units_.ops.Row(unit), [&](OpIndex op) {
      const double us = start_us_[static_cast<size_t>(op)];
      return is_free_[static_cast<size_t>(op)] == 0 && (us < begin_us || us >= end_us);
    });
  };
  std::erase_if(window_, [&](GroupIndex unit) {
    if (!stays(unit)) return false;
    pending_[static_cast<size_t>(unit)] = 0;
    return true;
  });
  std::ranges::stable_sort(window_, {}, start_us);
}

void WindowMoves::Decide(GroupIndex unit, double noise_us, Rng& rng, std::span<const double> latest_us) {
  const std::span<const OpIndex> ops = units_.ops.Row(unit);
  pending_[static_cast<size_t>(unit)] = 0;
  DeviceIndex best_device = -1;
  Slot best;
  for (DeviceIndex device = 0; device < sim_.num_devices; ++device) {
    if (!units_.Allowed(unit, device)) continue;
    Slot slot = Fit(unit, device, latest_us);
    if (noise_us > 0) slot.through_us += noise_us * rng.Uniform();
    if (best_device >= 0 && std::pair(slot.through_us, slot.sent_us) >= std::pair(best.through_us, best.sent_us))
      continue;
    best = slot;
    best_device = device;
  }
  for (const OpIndex op : ops) {
    for (const int32_t tensor : graph_.InputsOf(op)) {
      const auto p = static_cast<size_t>(graph_.ProducerOf(tensor));
      const DeviceIndex from = device_[p];
      if (from == best_device || is_free_[p] == 1 || units_.group_of_op[p] == unit) continue;
      double& free_us = link_free_us_[static_cast<size_t>(from)];
      free_us = std::max(free_us, finish_us_[p]) + graph_.TransferUs(tensor, from, best_device);
    }
  }
  double& free_us = device_free_us_[static_cast<size_t>(best_device)];
  free_us = std::max(free_us, best.finish_us);
  for (const OpIndex op : ops) Put(op, best_device, best.finish_us);
}

WindowMoves::Slot WindowMoves::Fit(GroupIndex unit, DeviceIndex device, std::span<const double> latest_us) const {
  Slot slot;
  double start_us = device_free_us_[static_cast<size_t>(device)];
  double cost_us = 0;
  for (const OpIndex op : units_.ops.Row(unit)) {
    cost_us += graph_.CostUs(op, device);
    for (const int32_t tensor : graph_.InputsOf(op)) {
      const auto p = static_cast<size_t>(graph_.ProducerOf(tensor));
      if (units_.group_of_op[p] == unit) continue;
      const DeviceIndex from = device_[p];
      double ready_us = finish_us_[p];
      if (from != device) {
        const double transfer_us = graph_.TransferUs(tensor, from, device);
        if (is_free_[p] == 0) ready_us = std::max(ready_us, link_free_us_[static_cast<size_t>(from)]);
        ready_us += transfer_us;
        slot.sent_us += transfer_us;
      }
      start_us = std::max(start_us, ready_us);
    }
  }
  slot.finish_us = start_us + cost_us;
  slot.through_us = slot.finish_us + TailUs(unit, device, latest_us);
  return slot;
}

double WindowMoves::TailUs(GroupIndex unit, DeviceIndex device, std::span<const double> latest_us) const {
  double tail_us = 0;
  for (const OpIndex op : units_.ops.Row(unit)) {
    for (const int32_t tensor : sim_.TensorsOf(op)) {
      for (const OpIndex reader : sim_.tensor_consumers.Row(tensor)) {
        const auto r = static_cast<size_t>(reader);
        const GroupIndex other = units_.group_of_op[r];
        if (other == unit) continue;
        double us = makespan_us_ - latest_us[r];
        if (device_[r] != device && pending_[static_cast<size_t>(other)] == 0)
          us += graph_.TransferUs(tensor, device, device_[r]);
        tail_us = std::max(tail_us, us);
      }
    }
  }
  return tail_us;
}

void WindowMoves::MoveParameters() {
  const size_t decided = undo_.size();
  for (size_t i = 0; i < decided; ++i) {
    const OpIndex op = undo_[i].op;
    const DeviceIndex device = device_[static_cast<size_t>(op)];
    if (device == undo_[i].device) continue;
    for (const int32_t tensor : graph_.InputsOf(op)) {
      const OpIndex source = graph_.ProducerOf(tensor);
      const auto s = static_cast<size_t>(source);
      if (is_free_[s] == 0 || device_[s] == device) continue;
      const GroupIndex unit = units_.group_of_op[s];
      const std::span<const OpIndex> readers = sim_.ReadersOf(source);
      const bool follows =
          units_.ops.Row(unit).size() == 1 && readers.size() <= SearchLevel::kMostInFamily &&
          units_.Allowed(unit, device) &&
          std::ranges::all_of(readers, [&](OpIndex r) { return device_[static_cast<size_t>(r)] == device; });
      if (follows) Put(source, device, finish_us_[s]);
    }
  }
}

void WindowMoves::Put(OpIndex op, DeviceIndex device, double finish_us) {
  const auto o = static_cast<size_t>(op);
  undo_.push_back({op, device_[o], finish_us_[o]});
  device_[o] = device;
  finish_us_[o] = finish_us;
}

}  // namespace emplace
