// How timed steps are written in the messages between a measuring process and whoever has started it
// (measuring_command.h). Include this in .cc files only: nlohmann/json is a large header.
#pragma once

#include <nlohmann/json.hpp>

#include "actor/hardware/step_timer.h"

namespace emplace {

// {"us": [...], "preemptions": [...], "op_us": [number or null...], "copies": [[op, output, to, us]...],
//  "replayed_us": number}
nlohmann::json StepSeriesToJson(const StepSeries& series);
// Reads it back equal. Throws an exception of nlohmann/json for what is not of this form.
StepSeries StepSeriesFromJson(const nlohmann::json& json);

}  // namespace emplace
