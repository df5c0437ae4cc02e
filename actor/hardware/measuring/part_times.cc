#include "actor/hardware/measuring/part_times.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/quantile.h"

namespace emplace {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Adds each number that is there to the samples at its index.
void AddEach(const std::vector<double>& us, std::vector<std::vector<double>>& samples) {
  samples.resize(us.size());
  for (size_t i = 0; i < us.size(); ++i) {
    if (!std::isnan(us[i])) samples[i].push_back(us[i]);
  }
}

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
  std::vector<double> op_us(times.op_begin_us.size());
  for (size_t op = 0; op < op_us.size(); ++op) op_us[op] = times.op_end_us[op] - times.op_begin_us[op];
  AddEach(op_us, op_us_);
  AddEach(CopyTimesOf(program_, times), copy_us_);
}

PartTimes PartMeasurements::Medians() const {
  PartTimes parts;
  for (const std::vector<double>& samples : op_us_) {
    parts.op_us.push_back(samples.empty() ? kNone : Quantile(samples, 0.5));
  }
  for (size_t value = 0; value < copy_us_.size(); ++value) {
    if (copy_us_[value].empty()) continue;
    const StepValue& copy = program_.values[value];
    parts.copies.push_back(
        {.op = copy.op, .output = copy.output, .to = copy.device, .us = Quantile(copy_us_[value], 0.5)});
  }
  return parts;
}

}  // namespace emplace
