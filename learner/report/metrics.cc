#include "learner/report/metrics.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/file_io.h"
#include "common/metrics_keys.h"
#include "common/strings.h"

namespace emplace {
namespace {

double UnixSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Half a line, which a killed process may have left, goes as well.
void DropLinesPast(const std::filesystem::path& path, int64_t updates) {
  if (!std::filesystem::exists(path)) return;
  std::string kept;
  if (updates > 0) {
    for (const std::string& line : Split(ReadFile(path), '\n')) {
      const nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (!json.is_object() || json.value(metrics::kUpdates, updates + 1) > updates) continue;
      kept += line + "\n";
    }
  }
  WriteFileAtomically(path, kept);
}

}  // namespace

Metrics::Metrics(const std::filesystem::path& run_dir, int64_t updates)
    : path_(run_dir / "metrics.jsonl"), tensorboard_(run_dir / "tensorboard", UnixSeconds()) {
  DropLinesPast(path_, updates);
  out_.open(path_, std::ios::app);
  if (!out_) throw RunFailed(StrCat(path_.string(), ": cannot be written: ", std::strerror(errno)));
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
  if (!out_) throw RunFailed(StrCat(path_.string(), ": cannot be written: ", std::strerror(errno)));
  tensorboard_.Flush();
}

}  // namespace emplace
