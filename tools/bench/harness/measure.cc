#include "tools/bench/harness/measure.h"

#include <time.h>

#include <algorithm>

#include "common/error.h"
#include "common/quantile.h"

namespace emplace::bench {

double ProcessorSeconds() {
  timespec time{};
  EMPLACE_CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Figure Summarize(const std::string& name, const std::string& unit, const std::vector<double>& samples) {
  return {
      name, unit, Median(samples), Quantile(samples, 0.1), Quantile(samples, 0.9), static_cast<int>(samples.size())};
}

std::vector<double> Repeat(int repetitions, const Variant& variant) {
  variant();
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) seconds.push_back(variant());
  return seconds;
}

PairedSeconds RepeatPaired(int repetitions, const Variant& slow, const Variant& fast) {
  slow();
  fast();
  PairedSeconds seconds;
  for (int i = 0; i < repetitions; ++i) {
    if (i % 2 == 0) {
      seconds.slow.push_back(slow());
      seconds.fast.push_back(fast());
    } else {
      seconds.fast.push_back(fast());
      seconds.slow.push_back(slow());
    }
  }
  return seconds;
}

std::vector<double> PairedSeconds::Speedups() const {
  std::vector<double> speedups;
  for (size_t i = 0; i < slow.size(); ++i) speedups.push_back(slow[i] / fast[i]);
  return speedups;
}

std::vector<double> Map(std::vector<double> samples, const std::function<double(double)>& f) {
  std::transform(samples.begin(), samples.end(), samples.begin(), f);
  return samples;
}

}  // namespace emplace::bench
