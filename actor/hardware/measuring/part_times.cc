#include "actor/hardware/measuring/part_times.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/quantile.h"

namespace emplace {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::vector<double> CopyTimesOf(const StepProgram& program, const StepTimes& times) {
  // [D] when the device had ended something: an op, or a copy that it made.
  std::vector<std::vector<double>> ends_us(program.devices.size());
  for (size_t device = 0; device < program.devices.size(); ++device) {
    for (const StepInstruction& instruction : program.devices[device]) {
      const double end_us = times.op_end_us[static_cast<size_t>(instruction.op)];
      if (!std::isnan(end_us)) ends_us[device].push_back(end_us);
    }
  }
  for (size_t value = 0; value < program.values.size(); ++value) {
    const double end_us = times.copy_end_us[value];
    if (!std::isnan(end_us)) ends_us[static_cast<size_t>(program.values[value].device)].push_back(end_us);
  }
  for (std::vector<double>& of_device : ends_us) std::ranges::sort(of_device);

  std::vector<double> us(program.values.size(), kNone);
  for (size_t value = 0; value < program.values.size(); ++value) {
    const StepValue& copy = program.values[value];
    const double begin_us = times.copy_begin_us[value];
    const double end_us = times.copy_end_us[value];
    if (copy.source == StepValue::kNone || copy.output < 0 || std::isnan(end_us)) continue;
    const double made_us = times.op_end_us[static_cast<size_t>(copy.op)];  // NaN for what is given, from the start on.
    const std::vector<double>& reader = ends_us[static_cast<size_t>(copy.device)];
    const auto after = std::ranges::upper_bound(reader, begin_us);
    const double free_us = after == reader.begin() ? 0 : *(after - 1);
    const double ready_us = std::isnan(made_us) ? free_us : std::max(free_us, made_us);
    us[value] = end_us - std::min(ready_us, begin_us);
  }
  return us;
}

void PartMeasurements::Add(const StepTimes& times) {
  steps_.Add(times);
  const std::vector<double> copy_us = CopyTimesOf(program_, times);
  copy_us_.resize(copy_us.size());
  for (size_t value = 0; value < copy_us.size(); ++value) {
    if (!std::isnan(copy_us[value])) copy_us_[value].push_back(copy_us[value]);
  }
}

PartTimes PartMeasurements::Medians() const {
  PartTimes parts = {.op_us = steps_.MedianOpUs(), .copies = {}};
  for (size_t value = 0; value < copy_us_.size(); ++value) {
    if (copy_us_[value].empty()) continue;
    const StepValue& copy = program_.values[value];
    parts.copies.push_back({.op = copy.op, .output = copy.output, .to = copy.device, .us = Median(copy_us_[value])});
  }
  return parts;
}

}  // namespace emplace
