#include "learner/report/metrics.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/file_end.h"
#include "common/files/file_io.h"
#include "common/metrics_keys.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr int64_t kUpdatesWithLines = 100'000;  // All of the first so many.

double UnixSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// What a line tells of; half a line, which a killed process may have left, tells of nothing.
struct LineSubject {
  bool is_update = false;
  int64_t updates = std::numeric_limits<int64_t>::max();
};
LineSubject SubjectOf(const std::string& line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  LineSubject subject;
  if (!json.is_object()) return subject;
  subject.updates = json.value(metrics::kUpdates, subject.updates);
  subject.is_update = json.value("kind", "") == metrics::kUpdate;
  return subject;
}

// Removes the lines past `updates` from the end of the file, which may be gigabytes long. Whatever tells of a later
// update was written after the line of update `updates`, so nothing before the last line of an update that stays has to
// be read.
void DropLinesPast(const std::filesystem::path& path, int64_t updates) {
  if (!std::filesystem::exists(path)) return;
  if (updates == 0) {
    ReplaceEnd(path, 0, "");
    return;
  }
  std::string kept;  // Of the end: evaluations of updates that stay.
  LinesFromEnd lines(path);
  while (const std::optional<std::string> line = lines.Next()) {
    const LineSubject subject = SubjectOf(*line);
    if (subject.updates > updates) continue;
    kept.insert(0, *line + "\n");
    if (subject.is_update) break;
  }
  ReplaceEnd(path, lines.offset(), kept);
}

}  // namespace

bool HasLine(int64_t update) {
  int64_t every = 1;
  for (int64_t most = kUpdatesWithLines; update > most && most < std::numeric_limits<int64_t>::max() / 10; most *= 10) {
    every *= 10;
  }
  return update % every == 0;
}

Metrics::Metrics(const std::filesystem::path& run_dir, int64_t updates)
    : path_(run_dir / "metrics.jsonl"), tensorboard_(run_dir / "tensorboard", UnixSeconds()) {
  DropLinesPast(path_, updates);
  out_.open(path_, std::ios::app);
  if (!out_) throw WriteError(path_);
}

void Metrics::Write(const std::string& kind, int64_t update, double seconds, const Scalars& scalars) {
  nlohmann::ordered_json line = {{"kind", kind}, {metrics::kUpdates, update}, {metrics::kSeconds, seconds}};
  const double now = UnixSeconds();
  for (const auto& [name, value] : scalars) {
    if (std::isfinite(value)) {
      line[name] = value;
      tensorboard_.Scalar(StrCat(kind, "/", name), value, update, now);
    } else {
      line[name] = nullptr;
    }
  }
  out_ << line.dump() << "\n";
  out_.flush();
  if (!out_) throw WriteError(path_);
  tensorboard_.Flush();
}

}  // namespace emplace
