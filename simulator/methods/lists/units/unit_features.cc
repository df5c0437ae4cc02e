#include "simulator/methods/lists/units/unit_features.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace emplace {
namespace {

constexpr double kPathShare = 0.01;   // Times count in this share of the longest path,
constexpr double kLeastShare = 1e-4;  // or in the unit's mean time, but at least this share.

constexpr std::array<UnitFeature, kNumUnitFeatures> kTable = {{
    {"finish_behind", &UnitFeatures::finish_behind, "Finish behind the earliest finish, in mean times of the unit"},
    {"finish_behind_path", &UnitFeatures::finish_behind_path,
     "Finish behind the earliest finish, in hundredths of the longest path"},
    {"finish_behind_log", &UnitFeatures::finish_behind_log, "asinh of finish_behind"},
    {"finish_behind_path_log", &UnitFeatures::finish_behind_path_log, "asinh of finish_behind_path"},
    {"finishes_first", &UnitFeatures::finishes_first, "1 where no other device finishes earlier"},
    {"start_behind", &UnitFeatures::start_behind, "Start behind the earliest start, in mean times of the unit"},
    {"start_behind_path", &UnitFeatures::start_behind_path,
     "Start behind the earliest start, in hundredths of the longest path"},
    {"cost", &UnitFeatures::cost, "Logarithm of the unit's time there over its least time"},
    {"transfers", &UnitFeatures::transfers, "Time of the transfers that it waits for, in mean times of the unit"},
    {"transfers_path", &UnitFeatures::transfers_path,
     "Time of the transfers that it waits for, in hundredths of the longest path"},
    {"inputs_there", &UnitFeatures::inputs_there, "Share of the bytes that it reads which are there already"},
    {"producers_there", &UnitFeatures::producers_there, "Share of the tensors that it reads which are made there"},
    {"last_producer_there", &UnitFeatures::last_producer_there, "1 where the producer that finishes last is"},
    {"load", &UnitFeatures::load, "Work on the device over the mean of all devices"},
    {"load_behind", &UnitFeatures::load_behind,
     "x / (1 + x) of the work there beyond that of the device with the least, x in hundredths of the longest path"},
    {"idle", &UnitFeatures::idle,
     "x / (1 + x) of the time from the end of all that is there to its start, x in hundredths of the longest path"},
    {"inserted", &UnitFeatures::inserted, "1 where it starts before the end of what is there"},
    {"link_busy", &UnitFeatures::link_busy,
     "x / (1 + x) of how long the device's sending link is busy after the finish, x in hundredths of the longest path"},
    {"unused", &UnitFeatures::unused, "1 where no unit is yet"},
    {"unused_of_many", &UnitFeatures::unused_of_many, "unused times the share of devices that have units"},
    {"lengthens", &UnitFeatures::lengthens,
     "How much later finish and what follows end than those of all units before, in hundredths of the longest path"},
    {"co_producers_there", &UnitFeatures::co_producers_there,
     "Share of the tensors that its readers read besides, as far as they are made, which are made there"},
    {"earlier_there", &UnitFeatures::earlier_there, "1 where the same op of micro-batch 0 is"},
    {"microbatch_there", &UnitFeatures::microbatch_there, "Share of the work of its micro-batch so far that is there"},
    {"parameters_finish", &UnitFeatures::parameters_finish,
     "finish_behind_path where it brings parameters along that are not placed yet, else 0"},
    {"memory", &UnitFeatures::memory, "Share of the device's memory that is in use with it"},
    {"late_finish", &UnitFeatures::late_finish, "finish_behind_path times the unit's depth, from 0 to 1"},
    {"late_load", &UnitFeatures::late_load, "load times the unit's depth"},
    {"part_there", &UnitFeatures::part_there,
     "Share of the work so far that is there, of its part of the graph in about four for each device"},
    {"fine_part_there", &UnitFeatures::fine_part_there,
     "Share of the work so far that is there, of its part of the graph in about sixteen for each device"},
}};

// By which shares of `all` are made.
double Per(double all) { return all > 0 ? 1 / all : 0; }
double Squashed(double x) { return x > 0 ? x / (1 + x) : 0; }
// asinh of x >= 0.
double LogOf(double x) { return x > 0 ? std::log(x + std::sqrt(x * x + 1)) : 0; }

}  // namespace

std::span<const UnitFeature, kNumUnitFeatures> UnitFeatureTable() { return kTable; }

UnitFeatureMaker::WorkByDevice::WorkByDevice(int32_t things, size_t devices)
    : devices_(devices), us_(static_cast<size_t>(things) * devices), sum_us_(static_cast<size_t>(things)) {}

void UnitFeatureMaker::WorkByDevice::Add(int32_t thing, DeviceIndex device, double us) {
  us_[static_cast<size_t>(thing) * devices_ + static_cast<size_t>(device)] += us;
  sum_us_[static_cast<size_t>(thing)] += us;
}

UnitFeatureMaker::UnitFeatureMaker(const ScheduleGraph& graph, const UnitFacts& facts)
    : graph_(graph),
      facts_(facts),
      per_path_(1 / (kPathShare * facts.path_us)),
      num_devices_(static_cast<size_t>(graph.num_devices())),
      finish_us_(static_cast<size_t>(graph.num_ops())),
      load_us_(num_devices_),
      end_us_(num_devices_),
      link_busy_us_(num_devices_),
      co_inputs_(finish_us_.size() * num_devices_),
      microbatch_work_(CountOf(facts.microbatch), num_devices_),
      inputs_from_(num_devices_),
      co_inputs_from_(num_devices_) {
  for (const std::vector<int32_t>& part : facts.part) part_work_.emplace_back(CountOf(part), num_devices_);
}

UnitFeatureMaker::UnitView UnitFeatureMaker::View(OpIndex unit, std::span<const UnitFit> fits,
                                                  std::span<const OpIndex> parameters, const UnitPlacement& units) {
  const auto u = static_cast<size_t>(unit);
  const SimGraph& sim = graph_.task().sim;
  UnitView view;
  view.per_unit = 1 / std::max(facts_.mean_us[u], kLeastShare * facts_.path_us);
  view.first_finish_us = view.first_start_us = view.least_cost_us = std::numeric_limits<double>::infinity();
  for (const UnitFit& fit : fits) {
    view.first_finish_us = std::min(view.first_finish_us, fit.finish_us);
    view.first_start_us = std::min(view.first_start_us, fit.start_us);
    view.least_cost_us = std::min(view.least_cost_us, fit.cost_us);
  }
  view.per_load = Per(all_load_us_ / static_cast<double>(num_devices_));
  view.least_load_us = *std::ranges::min_element(load_us_);
  view.used_devices = static_cast<double>(std::ranges::count_if(end_us_, [](double us) { return us > 0; })) /
                      static_cast<double>(num_devices_);
  std::ranges::fill(inputs_from_, 0);
  double inputs = 0;
  double input_bytes = 0;
  double last_us = -1;
  for (const int32_t tensor : graph_.InputsOf(unit)) {
    const OpIndex producer = graph_.ProducerOf(tensor);
    if (!units.IsPlaced(producer)) continue;
    const DeviceIndex from = units.DeviceOf(producer);
    ++inputs_from_[static_cast<size_t>(from)];
    ++inputs;
    input_bytes += static_cast<double>(sim.tensor_bytes[static_cast<size_t>(tensor)]);
    if (finish_us_[static_cast<size_t>(producer)] <= last_us) continue;
    last_us = finish_us_[static_cast<size_t>(producer)];
    view.last_producer_on = from;
  }
  view.per_input = Per(inputs);
  view.per_input_byte = Per(input_bytes);
  std::ranges::fill(co_inputs_from_, 0);
  for (const OpIndex reader : sim.ReadersOf(unit)) {
    const auto row = static_cast<size_t>(reader) * num_devices_;
    for (size_t d = 0; d < num_devices_; ++d) co_inputs_from_[d] += co_inputs_[row + d];
  }
  view.per_co_input = Per(std::accumulate(co_inputs_from_.begin(), co_inputs_from_.end(), 0));
  view.new_bytes = static_cast<double>(graph_.UnitBytes(graph_.UnitOf(unit)));
  for (const OpIndex parameter : parameters)
    view.new_bytes += static_cast<double>(graph_.UnitBytes(graph_.UnitOf(parameter)));
  if (const OpIndex earlier = facts_.earlier[u]; earlier >= 0) view.earlier_on = units.DeviceOf(earlier);
  if (facts_.microbatch[u] >= 0) view.per_microbatch = Per(microbatch_work_.Us(facts_.microbatch[u]));
  for (size_t i = 0; i < UnitFacts::kNumParts; ++i) view.per_part[i] = Per(part_work_[i].Us(facts_.part[i][u]));
  return view;
}

void UnitFeatureMaker::WriteFit(OpIndex unit, const UnitFit& fit, const UnitView& view, bool has_parameters,
                                const UnitPlacement& units, UnitFeatures& f) const {
  const auto u = static_cast<size_t>(unit);
  const auto d = static_cast<size_t>(fit.device);
  const double behind_us = fit.finish_us - view.first_finish_us;
  f.finish_behind = behind_us * view.per_unit;
  f.finish_behind_path = behind_us * per_path_;
  f.finish_behind_log = LogOf(f.finish_behind);
  f.finish_behind_path_log = LogOf(f.finish_behind_path);
  f.finishes_first = behind_us > 0 ? 0 : 1;
  f.start_behind = (fit.start_us - view.first_start_us) * view.per_unit;
  f.start_behind_path = (fit.start_us - view.first_start_us) * per_path_;
  f.cost = view.least_cost_us > 0 && fit.cost_us > view.least_cost_us ? std::log(fit.cost_us / view.least_cost_us) : 0;
  f.transfers = fit.sent_us * view.per_unit;
  f.transfers_path = fit.sent_us * per_path_;
  f.inputs_there = view.per_input_byte > 0 ? 1 - fit.sent_bytes * view.per_input_byte : 0;
  f.producers_there = inputs_from_[d] * view.per_input;
  f.last_producer_there = view.last_producer_on == fit.device ? 1 : 0;
  f.load = load_us_[d] * view.per_load;
  f.load_behind = Squashed((load_us_[d] - view.least_load_us) * per_path_);
  f.idle = Squashed((fit.start_us - end_us_[d]) * per_path_);
  f.inserted = fit.start_us < end_us_[d] ? 1 : 0;
  f.link_busy = Squashed((link_busy_us_[d] - fit.finish_us) * per_path_);
  f.unused = end_us_[d] > 0 ? 0 : 1;
  f.unused_of_many = f.unused * view.used_devices;
  f.lengthens = std::max(0.0, fit.finish_us + facts_.follows_us[u] - end_estimate_us_) * per_path_;
  f.co_producers_there = co_inputs_from_[d] * view.per_co_input;
  f.earlier_there = view.earlier_on == fit.device ? 1 : 0;
  f.microbatch_there =
      view.per_microbatch > 0 ? microbatch_work_.Us(facts_.microbatch[u], fit.device) * view.per_microbatch : 0;
  f.parameters_finish = has_parameters ? f.finish_behind_path : 0;
  f.memory = (units.used_bytes(fit.device) + view.new_bytes) * Per(units.room_bytes(fit.device));
  f.late_finish = facts_.depth[u] * f.finish_behind_path;
  f.late_load = facts_.depth[u] * f.load;
  f.part_there = part_work_[0].Us(facts_.part[0][u], fit.device) * view.per_part[0];
  f.fine_part_there = part_work_[1].Us(facts_.part[1][u], fit.device) * view.per_part[1];
}

std::span<const UnitFeatures> UnitFeatureMaker::Of(OpIndex unit, std::span<const UnitFit> fits,
                                                   std::span<const OpIndex> parameters, const UnitPlacement& units) {
  const UnitView view = View(unit, fits, parameters, units);
  features_.resize(fits.size());
  for (size_t i = 0; i < fits.size(); ++i) WriteFit(unit, fits[i], view, !parameters.empty(), units, features_[i]);
  return features_;
}

void UnitFeatureMaker::Placed(OpIndex unit, const UnitFit& fit) {
  const auto u = static_cast<size_t>(unit);
  const auto d = static_cast<size_t>(fit.device);
  finish_us_[u] = fit.finish_us;
  load_us_[d] += fit.cost_us;
  all_load_us_ += fit.cost_us;
  end_us_[d] = std::max(end_us_[d], fit.finish_us);
  end_estimate_us_ = std::max(end_estimate_us_, fit.finish_us + facts_.follows_us[u]);
  if (facts_.microbatch[u] >= 0) microbatch_work_.Add(facts_.microbatch[u], fit.device, fit.cost_us);
  for (size_t i = 0; i < UnitFacts::kNumParts; ++i) part_work_[i].Add(facts_.part[i][u], fit.device, fit.cost_us);
  for (const OpIndex reader : graph_.task().sim.ReadersOf(unit))
    ++co_inputs_[static_cast<size_t>(reader) * num_devices_ + d];
}

void UnitFeatureMaker::Sent(DeviceIndex from, double busy_until_us) {
  double& busy_us = link_busy_us_[static_cast<size_t>(from)];
  busy_us = std::max(busy_us, busy_until_us);
}

}  // namespace emplace
