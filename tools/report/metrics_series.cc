#include "tools/report/metrics_series.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/json_text.h"
#include "common/strings.h"
#include "tools/report/result_fields.h"

namespace emplace {
namespace {

using Json = nlohmann::json;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// A line of the file, which knows its place for complaints.
class Line {
 public:
  Line(Json json, std::string place) : json_(std::move(json)), place_(std::move(place)) {}

  std::string Kind() const { return TextField(json_, "kind", place_); }
  double Required(const std::string& key) const {
    const double value = Optional(key);
    if (!std::isnan(value)) return value;
    throw BadInput(StrCat(place_, ": '", key, "' is missing, expected a number"));
  }
  // NaN where there is none.
  double Optional(const std::string& key) const {
    const auto found = json_.find(key);
    if (found == json_.end() || found->is_null()) return kNone;
    if (!found->is_number())
      throw BadInput(StrCat(place_, ": '", key, "' is ", ShownJson(*found), ", expected a number"));
    return found->get<double>();
  }

 private:
  Json json_;
  std::string place_;
};

// How far a counter has come over all sittings: it starts again at 0 when a run goes on.
class Counter {
 public:
  void Read(double value) {
    if (std::isnan(value)) return;
    total_ += value < last_ ? value : value - last_;
    last_ = value;
  }
  double total() const { return total_; }

 private:
  double last_ = 0;
  double total_ = 0;
};

// Sum, least and greatest of the numbers that there are.
class Tally {
 public:
  void Add(double value) {
    if (std::isnan(value)) return;
    sum_ += value;
    least_ = count_ == 0 ? value : std::min(least_, value);
    greatest_ = count_ == 0 ? value : std::max(greatest_, value);
    ++count_;
  }
  double sum() const { return sum_; }
  double mean() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : kNone; }
  double least() const { return least_; }
  double greatest() const { return greatest_; }

 private:
  double sum_ = 0;
  double least_ = kNone;
  double greatest_ = kNone;
  size_t count_ = 0;
};

class UpdateBuckets {
 public:
  // Appends the bucket's entry to `series`.
  void Add(const std::vector<Line>& lines, size_t begin, size_t end, UpdateSeries& series) {
    Tally mean_ratio, best_ratio, min_lag, mean_lag, max_lag, measured_ratio, measured_episodes;
    std::array<Tally, metrics::kStages.size()> busy;
    const double episodes_before = episodes_.total();
    const double steps_before = steps_.total();
    const double blocked_before = blocked_.total();
    const double window_before = window_.total();
    for (size_t i = begin; i < end; ++i) {
      const Line& line = lines[i];
      mean_ratio.Add(line.Optional(metrics::kMeanRatio));
      best_ratio.Add(line.Optional(metrics::kBestRatio));
      min_lag.Add(line.Optional(metrics::kMinLag));
      mean_lag.Add(line.Optional(metrics::kMeanLag));
      max_lag.Add(line.Optional(metrics::kMaxLag));
      measured_ratio.Add(line.Optional(metrics::kMeasuredRatio));
      measured_episodes.Add(line.Optional(metrics::kMeasuredEpisodes));
      for (size_t stage = 0; stage < busy.size(); ++stage) {
        busy[stage].Add(line.Optional(metrics::BusySeconds(metrics::kStages[stage])));
      }
      episodes_.Read(line.Optional(metrics::kEpisodes));
      steps_.Read(line.Optional(metrics::kSteps));
      blocked_.Read(line.Optional(metrics::kBlockedSeconds));
      window_.Read(line.Optional(metrics::kWindowSeconds));
    }
    const double seconds = lines[end - 1].Required(metrics::kSeconds);
    const auto rate = [elapsed = seconds - seconds_](double amount) { return elapsed > 0 ? amount / elapsed : kNone; };
    // The clocks of training and of a stage or the full queue are not read at the same moment.
    const auto share = [&](double part_s) { return std::min(rate(part_s), 1.0); };
    series.update.push_back(lines[end - 1].Required(metrics::kUpdates));
    series.seconds.push_back(seconds);
    series.mean_ratio.push_back(mean_ratio.mean());
    series.best_ratio.push_back(best_ratio.least());
    series.min_lag.push_back(min_lag.least());
    series.mean_lag.push_back(mean_lag.mean());
    series.max_lag.push_back(max_lag.greatest());
    series.episodes_per_s.push_back(rate(episodes_.total() - episodes_before));
    series.steps_per_s.push_back(rate(steps_.total() - steps_before));
    for (size_t stage = 0; stage < busy.size(); ++stage) {
      series.busy_share[stage].push_back(std::isnan(busy[stage].mean()) ? kNone : share(busy[stage].sum()));
    }
    series.blocked_share.push_back(share(blocked_.total() - blocked_before));
    const bool measured = !std::isnan(measured_episodes.mean());
    series.measured_ratio.push_back(measured_ratio.mean());
    series.measured_episodes_per_s.push_back(measured ? rate(measured_episodes.sum()) : kNone);
    series.window_share.push_back(measured ? rate(window_.total() - window_before) : kNone);
    seconds_ = seconds;
  }

 private:
  Counter episodes_;
  Counter steps_;
  Counter blocked_;
  Counter window_;
  double seconds_ = 0;  // At the end of the bucket before.
};

}  // namespace

MetricsSeries ParseMetrics(std::string_view text, const std::string& source, size_t most_buckets) {
  EMPLACE_CHECK(most_buckets > 0);
  MetricsSeries series;
  std::vector<Line> updates;
  const std::vector<std::string> texts = Split(text, '\n');
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty()) continue;
    const std::string place = StrCat(source, ":", i + 1);
    Json json = Json::parse(texts[i], nullptr, /*allow_exceptions=*/false);
    const bool unfinished = i + 1 == texts.size();
    if (json.is_discarded() && unfinished) break;
    if (!json.is_object()) throw BadInput(StrCat(place, ": damaged, expected a JSON object"));
    const Line line(std::move(json), place);
    const std::string kind = line.Kind();
    if (kind == metrics::kEvaluation) {
      series.evaluations.update.push_back(line.Required(metrics::kUpdates));
      series.evaluations.seconds.push_back(line.Required(metrics::kSeconds));
      series.evaluations.validation_ratio.push_back(line.Optional(metrics::kValidationRatio));
      series.evaluations.test_ratio.push_back(line.Optional(metrics::kTestRatio));
    } else if (kind == metrics::kUpdate) {
      updates.push_back(line);
    }
  }
  const size_t buckets = std::min(most_buckets, updates.size());
  UpdateBuckets adder;
  for (size_t b = 0; b < buckets; ++b) {
    adder.Add(updates, b * updates.size() / buckets, (b + 1) * updates.size() / buckets, series.updates);
  }
  return series;
}

}  // namespace emplace
