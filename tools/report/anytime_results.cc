#include "tools/report/anytime_results.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "common/error.h"
#include "common/files/json_text.h"
#include "common/strings.h"
#include "tools/report/result_fields.h"

namespace emplace {
namespace {

using Json = nlohmann::json;
using Pair = std::pair<std::string, std::string>;  // A graph and a machine.

constexpr char kFormat[] = "emplace.anytime/1";

// What a method found in one run.
struct Found {
  Pair pair;
  double seconds = 0;  // The time that it was given.
  std::string method;
  double makespan_us = 0;
  bool in_time = false;
};

// Of what fits the memory.
void AddFound(const Json& run, const std::string& place, std::vector<Found>& all) {
  CheckIsObject(run, place);
  const Pair pair = {TextField(run, "graph", place), TextField(run, "machine", place)};
  const double seconds = NumberFromZero(run, "seconds", place);
  if (seconds == 0) throw BadInput(StrCat(place, ": 'seconds' is 0, expected more"));
  const Json& methods = RequiredMember(run, "methods", place);
  CheckIsObject(methods, StrCat(place, ": 'methods'"));
  for (const auto& [method, result] : methods.items()) {
    const std::string here = StrCat(place, ": method '", method, "'");
    CheckIsObject(result, here);
    const bool in_time = TruthField(result, "in_time", here);
    if (!TruthField(result, "feasible", here)) continue;
    const double makespan_us = NumberFromZero(result, "makespan_us", here);
    if (makespan_us > 0) all.push_back({pair, seconds, method, makespan_us, in_time});
  }
}

}  // namespace

bool IsAnytime(std::string_view text) {
  return text.substr(0, 200).find(StrCat('"', kFormat, '"')) != std::string_view::npos;
}

AnytimeResults ParseAnytime(std::string_view text, const std::string& source) {
  const Json file = ParseJson(text, source);
  CheckIsObject(file, source);
  const std::string format = TextField(file, "format", source);
  if (format != kFormat) throw BadInput(StrCat(source, ": 'format' is ", ShownJson(format), ", expected ", kFormat));
  const Json& runs = RequiredMember(file, "runs", source);
  if (!runs.is_array()) throw BadInput(StrCat(source, ": 'runs' is ", ShownJson(runs), ", expected a list"));
  std::vector<Found> all;
  size_t index = 0;
  for (const Json& run : runs) AddFound(run, StrCat(source, ": runs[", index++, "]"), all);

  std::map<Pair, double> best_us;
  std::set<double> seconds;
  for (const Found& found : all) {
    const auto [best, is_first] = best_us.try_emplace(found.pair, found.makespan_us);
    if (!is_first) best->second = std::min(best->second, found.makespan_us);
    seconds.insert(found.seconds);
  }
  struct Sum {
    double logs = 0;
    int64_t runs = 0;
  };
  std::map<std::string, std::map<double, Sum>> sums;
  for (const Found& found : all) {
    Sum& sum = sums[found.method][found.seconds];
    if (!found.in_time) continue;
    sum.logs += std::log(found.makespan_us / best_us.at(found.pair));
    ++sum.runs;
  }
  AnytimeResults results;
  results.seconds.assign(seconds.begin(), seconds.end());
  results.pairs = std::ssize(best_us);
  for (auto& [name, of_seconds] : sums) {
    AnytimeMethod method{.method = name, .over_best = {}, .runs = {}};
    for (const double time : results.seconds) {
      const Sum sum = of_seconds[time];
      method.runs.push_back(sum.runs);
      method.over_best.push_back(sum.runs > 0 ? std::exp(sum.logs / static_cast<double>(sum.runs)) : std::nan(""));
    }
    results.methods.push_back(std::move(method));
  }
  const auto last = [](const AnytimeMethod& method) {
    const double over_best = method.over_best.back();
    return std::isnan(over_best) ? std::numeric_limits<double>::infinity() : over_best;
  };
  std::ranges::stable_sort(results.methods, {}, last);
  return results;
}

}  // namespace emplace
