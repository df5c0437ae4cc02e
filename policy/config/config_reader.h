// Reads a run's configuration from YAML, and values that replace its own from the texts of --set.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "policy/config/run_config.h"

namespace emplace {

// Sets what the text gives. Returns the keys that it gives, as "section.key", and the sections. source: names the text
// in errors. Throws BadInput "source:line:col: ..." for what is wrong with one key.
std::set<std::string> ReadConfig(std::string_view yaml, const std::string& source, RunConfig& config);

// What comes before the '=' of "section.key=value". Throws BadInput where there is none.
std::string OverriddenKey(const std::string& text);
// Sets the value of such a text. Throws BadInput "--set TEXT: ...".
void ApplyOverride(const std::string& text, RunConfig& config);

}  // namespace emplace
