#include "actor/hardware/measuring/step_messages.h"

#include <limits>

namespace emplace {

nlohmann::json StepSeriesToJson(const StepSeries& series) {
  nlohmann::json copies = nlohmann::json::array();
  for (const CopyTime& copy : series.parts.copies) copies.push_back({copy.op, copy.output, copy.to, copy.us});
  return {{"us", series.us},
          {"preemptions", series.preemptions},
          {"op_us", series.parts.op_us},  // JSON has no NaN: the library writes null.
          {"copies", std::move(copies)},
          {"replayed_us", series.replayed_us}};
}

StepSeries StepSeriesFromJson(const nlohmann::json& json) {
  StepSeries series;
  json.at("us").get_to(series.us);
  json.at("preemptions").get_to(series.preemptions);
  json.at("replayed_us").get_to(series.replayed_us);
  for (const nlohmann::json& us : json.at("op_us")) {
    series.parts.op_us.push_back(us.is_null() ? std::numeric_limits<double>::quiet_NaN() : us.get<double>());
  }
  for (const nlohmann::json& copy : json.at("copies")) {
    series.parts.copies.push_back({.op = copy.at(0).get<OpIndex>(),
                                   .output = copy.at(1).get<int32_t>(),
                                   .to = copy.at(2).get<DeviceIndex>(),
                                   .us = copy.at(3).get<double>()});
  }
  return series;
}

}  // namespace emplace
