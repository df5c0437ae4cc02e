#include "actor/hardware/measuring/hardware_measure.h"

#include <algorithm>
#include <limits>
#include <thread>

#include "actor/hardware/measuring/measurement.h"
#include "actor/reward_source.h"
#include "common/error.h"
#include "common/log.h"
#include "common/strings.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLookAgain(5);
// For windows of others to close and units of work to end, before this is looked at again, or measured beside them.
constexpr milliseconds kPatience(2000);

// The mean of the steps that are no outliers.
double MeanWithoutOutliers(const std::vector<double>& step_us) {
  const StepStatistics statistics = Summarize(step_us);
  double sum = 0;
  int64_t count = 0;
  for (const double us : step_us) {
    if (statistics.IsOutlier(us)) continue;
    sum += us;
    ++count;
  }
  return sum / static_cast<double>(count);  // The quartiles are within them.
}

double Center(const std::vector<double>& step_us, StepCenter center) {
  return center == StepCenter::kMedian ? Summarize(step_us).median_us : MeanWithoutOutliers(step_us);
}

}  // namespace

double RatioOf(const StepSamples& samples, StepCenter center) {
  return Center(samples.placement.us, center) / Center(samples.reference.us, center);
}

Error NoReference(const std::string& place) {
  return BadInput(
      StrCat(place, ": no device may run every op, expected one: its step is what others are compared with"));
}

HardwareMeter::HardwareMeter(const HardwareConfig& config, StepTimer& timer, MachineLock& lock,
                             std::function<bool()> is_over)
    : config_(config), timer_(timer), lock_(lock), is_over_(std::move(is_over)) {}

StepSamples HardwareMeter::Samples(size_t graph, const OrderedPlacement& placement) {
  Prepare(graph, placement);
  AwaitTurn();
  struct Window {
    ~Window() { meter.CloseWindow(opened); }
    HardwareMeter& meter;
    Clock::time_point opened = Clock::now();
  } const window{*this};
  return timer_.Time({.warmup = config_.warmup, .steps = config_.steps, .window_s = config_.window_s});
}

double HardwareMeter::Ratio(size_t graph, std::span<const DeviceIndex> ops) {
  try {
    return RatioOf(Samples(graph, {.placement = Placement(ops.begin(), ops.end()), .orders = {}}), config_.outliers);
  } catch (const StepFailed& failure) {
    LogWarning(StrCat("a placement of graph ", graph, " counts as one that takes ", config_.penalty,
                      " times the best single device: ", failure.what()));
    return std::numeric_limits<double>::infinity();
  }
}

// It runs a step, which must not disturb the windows of others on this computer.
void HardwareMeter::Prepare(size_t graph, const OrderedPlacement& placement) {
  lock_.BeginWork(kPatience, StopSignal(is_over_));
  struct Unit {
    ~Unit() { lock.EndWork(); }
    MachineLock& lock;
  } const unit{lock_};
  timer_.Prepare(graph, placement);
}

// Returns with the window open.
void HardwareMeter::AwaitTurn() const {
  const auto give_up = [this] {
    if (is_over_()) throw MeasurementCancelled();
  };
  while (Clock::now() < next_window_) {
    give_up();
    std::this_thread::sleep_for(kLookAgain);
  }
  while (!lock_.OpenWindow(kPatience, StopSignal(is_over_))) give_up();
}

void HardwareMeter::CloseWindow(Clock::time_point opened) {
  lock_.CloseWindow();
  const Clock::time_point now = Clock::now();
  const auto open = now - opened;
  window_time_ += std::chrono::duration_cast<std::chrono::microseconds>(open);
  next_window_ = now + std::chrono::duration_cast<Clock::duration>(open * (1 / config_.share - 1));
}

HardwareMeasure::HardwareMeasure(const PlacementTask& task, size_t graph, const HardwareConfig& config,
                                 HardwareMeter& meter)
    : task_(task), graph_(graph), config_(config), meter_(meter), simulated_(task) {
  EMPLACE_CHECK(task.single_device >= 0);
}

Measurement HardwareMeasure::Run(std::span<const uint8_t> groups, std::span<const DeviceIndex> ops) {
  Measurement measured = simulated_.Run(groups, ops);
  const double ratio = meter_.Ratio(graph_, ops);
  measured.feasible = measured.feasible && ratio < config_.penalty;
  measured.makespan_us = std::min(ratio, config_.penalty) * task_.single_device_us;
  return measured;
}

}  // namespace emplace
