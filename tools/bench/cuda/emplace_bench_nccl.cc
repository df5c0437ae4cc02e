// Measures what a rank pays for NCCL where it is the only one: the time to set NCCL up, and of an exchange of a
// gradient (GatherShards and Broadcast) by its size. With no other rank, all of it is overhead. Prints one JSON
// document; where there is no GPU, one line.
#include <chrono>
#include <optional>

#include "common/command_line.h"
#include "common/error.h"
#include "common/quantile.h"
#include "learner/ranks/nccl_collective.h"
#include "tools/bench/cuda/gpu_bench.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

// Microseconds of an exchange of a gradient of `floats`.
double ExchangeUs(NcclCollective& collective, size_t floats) {
  ShardSums sums(1, 1, floats);
  sums.row(0)[0] = 1;
  sums.AddOwn(0);
  const Clock::time_point start = Clock::now();
  collective.GatherShards(sums);
  sums.AddAll();
  collective.Broadcast(sums.total());
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

nlohmann::json MeasureNccl() {
  constexpr int kRepetitions = 200;
  constexpr size_t kLarge = size_t{1} << 20;
  NcclCollective::Options options;
  options.ranks = 1;
  options.limit_s = 60;
  NcclCollective collective(options, NewNcclId());
  const auto policy = static_cast<size_t>(NumParameters(PlacetoShape{}));
  const double first_us = ExchangeUs(collective, policy);  // It sets NCCL up.
  nlohmann::json exchanges = nlohmann::json::array();
  for (const size_t floats : {policy, kLarge}) {
    std::vector<double> us;
    for (int i = 0; i < kRepetitions; ++i) us.push_back(ExchangeUs(collective, floats));
    exchanges.push_back({{"floats", floats}, {"us", Median(us)}});
  }
  return {{"ranks", 1}, {"first_ms", first_us / 1e3}, {"exchanges", exchanges}};
}

int RunNcclBench(int argc, char** argv) {
  CLI::App app{"Measures an exchange of gradients by NCCL with one rank."};
  if (const std::optional<int> exit_code = ParseCommandLine(app, argc, argv)) return *exit_code;
  return PrintMeasured(MeasureNccl);
}

}  // namespace
}  // namespace emplace

int main(int argc, char** argv) {
  return emplace::RunMain("emplace-bench-nccl", [&] { return emplace::RunNcclBench(argc, argv); });
}
