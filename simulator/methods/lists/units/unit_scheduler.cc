#include "simulator/methods/lists/units/unit_scheduler.h"

#include <algorithm>

namespace emplace {

namespace {

bool MayRunOnOneDevice(const ScheduleGraph& graph, OpIndex op) {
  int32_t devices = 0;
  for (DeviceIndex device = 0; device < graph.num_devices(); ++device)
    devices += graph.UnitMayRunOn(graph.UnitOf(op), device) ? 1 : 0;
  return devices == 1;
}

}  // namespace

UnitScheduler::UnitScheduler(const ScheduleGraph& graph, const std::vector<uint8_t>& is_free,
                             std::span<const double> room_bytes, UnitScorer* scorer)
    : graph_(graph),
      sim_(graph.task().sim),
      is_free_(is_free),
      scorer_(scorer),
      units_(graph, room_bytes),
      devices_(static_cast<size_t>(sim_.num_devices)),
      link_free_us_(
          static_cast<size_t>(sim_.link_model == LinkModel::kTopology ? sim_.routes.num_channels : sim_.num_devices)),
      finish_us_(static_cast<size_t>(sim_.num_ops)),
      arrival_us_(graph.ArrivalIndex(static_cast<int32_t>(sim_.tensor_bytes.size()), 0), -1) {}

void UnitScheduler::Run(std::span<const OpIndex> by_rank) {
  for (const OpIndex op : by_rank) {
    if (is_free_[static_cast<size_t>(op)] == 0) PlaceNext(op);
  }
  for (const OpIndex op : by_rank) {
    if (!units_.IsPlaced(op)) units_.Assign(op, units_.Candidates(op).front());
  }
}

std::span<const int32_t> UnitScheduler::LinksOf(DeviceIndex from, DeviceIndex to) {
  if (sim_.link_model == LinkModel::kTopology) return sim_.routes.channels.Row(from * sim_.num_devices + to);
  own_link_ = from;
  return {&own_link_, 1};
}

double UnitScheduler::BothFreeUs(DeviceIndex from, DeviceIndex to, double ready_us, double duration_us) const {
  while (true) {
    const double of_from_us = devices_[static_cast<size_t>(from)].EarliestStartUs(ready_us, duration_us);
    ready_us = devices_[static_cast<size_t>(to)].EarliestStartUs(of_from_us, duration_us);
    if (ready_us == of_from_us) return ready_us;
  }
}

double UnitScheduler::Send(int32_t tensor, DeviceIndex from, DeviceIndex to, double ready_us, UnitFit& fit) {
  double& arrival_us = arrival_us_[graph_.ArrivalIndex(tensor, to)];
  if (arrival_us >= 0) return arrival_us;
  const double transfer_us = graph_.TransferUs(tensor, from, to);
  double start_us = ready_us;
  const std::span<const int32_t> links = LinksOf(from, to);
  for (const int32_t link : links) start_us = std::max(start_us, link_free_us_[static_cast<size_t>(link)]);
  if (sim_.blocking > 0 && sim_.tensor_bytes[static_cast<size_t>(tensor)] > 0) {
    const double blocked_us = sim_.blocking * transfer_us;
    if (!blocked_.empty()) start_us = std::max(start_us, blocked_.back().end_us);  // The receiver is the same.
    start_us = BothFreeUs(from, to, start_us, blocked_us);
    for (const DeviceIndex device : {from, to}) blocked_.push_back({device, start_us, start_us + blocked_us});
  }
  for (const int32_t link : links) {
    double& free_us = link_free_us_[static_cast<size_t>(link)];
    changed_links_.push_back({&free_us, free_us});
    free_us = start_us + transfer_us + sim_.LinkTimesOf(from, to).busy_after_us;
  }
  changed_links_.push_back({&arrival_us, arrival_us});
  fit.sent_us += transfer_us;
  fit.sent_bytes += static_cast<double>(sim_.tensor_bytes[static_cast<size_t>(tensor)]);
  return arrival_us = start_us + transfer_us;
}

// A parameter is there from the begin on. To send it so early would hold up all that its device sends, so it counts as
// sent when the op has all else.
UnitFit UnitScheduler::Fit(OpIndex op, DeviceIndex device) {
  UnitFit fit;
  fit.device = device;
  fit.cost_us = graph_.CostUs(op, device);
  for (const bool parameters : {false, true}) {
    for (const int32_t tensor : graph_.InputsOf(op)) {
      const OpIndex producer = graph_.ProducerOf(tensor);
      const auto p = static_cast<size_t>(producer);
      if ((is_free_[p] == 1) != parameters || !units_.IsPlaced(producer)) continue;
      const DeviceIndex from = units_.DeviceOf(producer);
      const double ready_us = parameters ? fit.start_us : finish_us_[p];
      fit.start_us = std::max(fit.start_us, from == device ? finish_us_[p] : Send(tensor, from, device, ready_us, fit));
    }
  }
  fit.start_us = devices_[static_cast<size_t>(device)].EarliestStartUs(fit.start_us, fit.cost_us);
  fit.finish_us = fit.start_us + fit.cost_us;
  return fit;
}

void UnitScheduler::Unsend() {
  for (; !changed_links_.empty(); changed_links_.pop_back())
    *changed_links_.back().first = changed_links_.back().second;
  blocked_.clear();
}

void UnitScheduler::CollectNewParameters(OpIndex op) {
  parameters_.clear();
  for (const int32_t tensor : graph_.InputsOf(op)) {
    const OpIndex producer = graph_.ProducerOf(tensor);
    if (units_.IsPlaced(producer)) continue;
    if (units_.IsDecided(producer) || MayRunOnOneDevice(graph_, producer)) {
      units_.Assign(producer, units_.Candidates(producer).front());
    } else {
      parameters_.push_back(producer);
    }
  }
}

DeviceIndex UnitScheduler::ChooseDevice(OpIndex op) {
  fits_.clear();
  for (const DeviceIndex device : units_.CandidatesWith(op, parameters_)) {
    fits_.push_back(Fit(op, device));
    Unsend();
  }
  if (scorer_ != nullptr) return fits_[scorer_->Choose(op, fits_, parameters_, units_)].device;
  return std::ranges::min_element(fits_, EndsBefore)->device;
}

void UnitScheduler::PlaceNext(OpIndex op) {
  CollectNewParameters(op);
  const DeviceIndex device = ChooseDevice(op);
  for (const OpIndex parameter : parameters_) {
    const std::vector<DeviceIndex>& candidates = units_.Candidates(parameter);
    const bool follows = std::ranges::find(candidates, device) != candidates.end();
    units_.Assign(parameter, follows ? device : candidates.front());
  }
  const UnitFit fit = Fit(op, device);
  changed_links_.clear();
  for (const Blocked& blocked : blocked_)
    devices_[static_cast<size_t>(blocked.device)].Add(blocked.start_us, blocked.end_us);
  blocked_.clear();
  units_.Assign(op, device);
  devices_[static_cast<size_t>(device)].Add(fit.start_us, fit.finish_us);
  finish_us_[static_cast<size_t>(op)] = fit.finish_us;
  if (scorer_ != nullptr) TellScorer(op, fit);
}

void UnitScheduler::TellScorer(OpIndex op, const UnitFit& fit) {
  scorer_->Placed(op, fit);
  for (const int32_t tensor : graph_.InputsOf(op)) {
    const DeviceIndex from = units_.DeviceOf(graph_.ProducerOf(tensor));
    if (from == fit.device) continue;
    scorer_->Sent(
        from, arrival_us_[graph_.ArrivalIndex(tensor, fit.device)] + sim_.LinkTimesOf(from, fit.device).busy_after_us);
  }
}

}  // namespace emplace
