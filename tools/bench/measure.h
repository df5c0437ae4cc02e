// Timing for the benchmarks: repetitions, paired where two variants are compared, summed up by median and spread.
//
// Google Benchmark, which fits a single timing, runs one variant after the other. What is published here are ratios,
// and on a shared machine the speed drifts by more between two such runs than between the two halves of one repetition:
// so the variants take turns, and a ratio is the median over repetitions of each repetition's own ratio.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace emplace::bench {

// One measured number. Its spread is that of the repetitions, not of the machine.
struct Figure {
  std::string name;
  std::string unit;
  double median = 0;
  double low = 0;   // 10th percentile of the repetitions
  double high = 0;  // 90th
  int repetitions = 0;
};

// Linear between the two nearest samples. REQUIRES: samples not empty, 0 <= share <= 1.
double Quantile(std::vector<double> samples, double share);
// REQUIRES: samples not empty.
Figure Summarize(const std::string& name, const std::string& unit, const std::vector<double>& samples);

// Processor time of this process, all its threads together: what others run on a shared machine shows less than by the
// clock, and a second thread gains nothing.
double ProcessorSeconds();

// What `work` takes, in processor time.
template <typename Work>
double Seconds(const Work& work) {
  const double begin = ProcessorSeconds();
  work();
  return ProcessorSeconds() - begin;
}

// One repetition of a variant: returns the seconds that count, so that it can leave out its preparations.
using Variant = std::function<double()>;

// After one repetition that does not count: it faults in memory and fills caches.
std::vector<double> Repeat(int repetitions, const Variant& variant);

// Two variants that did the same work in turns; the one that begins alternates.
struct PairedSeconds {
  std::vector<double> slow;              // [repetitions]
  std::vector<double> fast;              // [repetitions]
  std::vector<double> Speedups() const;  // slow / fast of each repetition
};
PairedSeconds RepeatPaired(int repetitions, const Variant& slow, const Variant& fast);

// Each sample through `f`: seconds -> the unit that is published.
std::vector<double> Map(std::vector<double> samples, const std::function<double(double)>& f);

}  // namespace emplace::bench
