#include "learner/metrics.h"

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

double UnixSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

Metrics::Metrics(const std::filesystem::path& run_dir)
    : path_(run_dir / "metrics.jsonl"), out_(path_, std::ios::app), tensorboard_(run_dir / "tensorboard", UnixSeconds()) {
  if (!out_) throw RunFailed(StrCat(path_.string(), ": cannot be written"));
}

void Metrics::Write(const std::string& kind, int64_t update, double seconds, const Scalars& scalars) {
  nlohmann::ordered_json line = {{"kind", kind}, {"update", update}, {"seconds", seconds}};
  const double now = UnixSeconds();
  for (const auto& [name, value] : scalars) {
    if (std::isfinite(value)) {
      line[name] = value;
      tensorboard_.Scalar(kind + "/" + name, value, update, now);
    } else {
      line[name] = nullptr;
    }
  }
  out_ << line.dump() << "\n";
  out_.flush();
  tensorboard_.Flush();
  if (!out_) throw RunFailed(StrCat(path_.string(), ": cannot be written"));
}

}  // namespace emplace
