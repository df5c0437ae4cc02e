// Timing for the benchmarks: repetitions, which are summed up by their median and spread.
//
// Where two variants are compared, they take turns, and the published ratio is the median of the repetitions' own
// ratios. Google Benchmark would run one variant after the other; on a shared machine the speed changes more between
// two such runs than between the two halves of one repetition.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace emplace::bench {

// One measured number. Its spread is over repetitions on one machine.
struct Figure {
  std::string name;
  std::string unit;
  double median = 0;
  double low = 0;   // 10th percentile of the repetitions
  double high = 0;  // 90th percentile of the repetitions
  int repetitions = 0;
};

// The median and the spread of the samples. REQUIRES: samples are not empty.
Figure Summarize(const std::string& name, const std::string& unit, const std::vector<double>& samples);

// Processor time of all threads of this process, in seconds. Other programs on a shared machine disturb it less than
// wall time, and a second thread gains nothing.
double ProcessorSeconds();

// The processor time that `work` takes, in seconds.
template <typename Work>
double Seconds(const Work& work) {
  const double begin = ProcessorSeconds();
  work();
  return ProcessorSeconds() - begin;
}

// One repetition of a variant. Returns the seconds that count, so that preparations can be left out.
using Variant = std::function<double()>;

// Returns the seconds of each repetition. One more repetition runs before and does not count: it maps memory and fills
// caches.
std::vector<double> Repeat(int repetitions, const Variant& variant);

// The seconds of two variants that did the same work in turns. Which of them begins alternates.
struct PairedSeconds {
  std::vector<double> slow;              // [repetitions]
  std::vector<double> fast;              // [repetitions]
  std::vector<double> Speedups() const;  // slow / fast of each repetition, [repetitions]
};
PairedSeconds RepeatPaired(int repetitions, const Variant& slow, const Variant& fast);

// Applies `f` to each sample, such as a conversion from seconds to the published unit.
std::vector<double> Map(std::vector<double> samples, const std::function<double(double)>& f);

}  // namespace emplace::bench
