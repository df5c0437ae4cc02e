// Measures the learner's update on a GPU against LibTorch, op by op, on the same GPU: states a second of both, which
// take turns, and the ratio. Prints one JSON document; where there is no GPU, one line.
//
//   emplace-bench-cuda-libtorch [--states 512] [--groups 128] [--rounds 8] [--width 0] [--seconds 2]
#include <cuda_runtime_api.h>

#include <algorithm>
#include <optional>

#include "common/command_line.h"
#include "common/error.h"
#include "common/quantile.h"
#include "tests/support/placeto_net.h"
#include "tools/bench/cuda/gpu_bench.h"

namespace emplace {
namespace {

// Forward and backward pass. The features are on the device already and there is no optimizer: LibTorch's best case.
class EagerUpdate {
 public:
  EagerUpdate(const GpuBatch& batch, torch::Device device) : net_(batch.weights, device) {
    std::vector<std::vector<uint8_t>> placements;
    placements.reserve(batch.states.size());
    std::vector<PlacetoState> states;
    for (const gpu::StateEntry& state : batch.states) {
      const auto e = static_cast<size_t>(state.episode);
      placements.push_back(batch.starts[e]);
      std::copy_n(batch.actions[e].begin(), state.step, placements.back().begin());
      states.push_back({&batch.graph, placements.back().data(), state.step});
    }
    batch_ = MakePlacetoBatch(batch.graph, states, batch.shape, device);
  }

  double PerSecond(double seconds) {
    return emplace::PerSecond(
        seconds,
        [&] {
          net_.ZeroGradient();
          torch::log_softmax(net_.Forward(batch_), 1).select(1, 0).mean().backward();
        },
        [] { cudaDeviceSynchronize(); });
  }

 private:
  PlacetoNet net_;
  PlacetoBatch batch_;
};

nlohmann::json MeasureAgainstLibTorch(const GpuBenchOptions& options) {
  constexpr int kTurns = 3;
  const GpuBatch batch(options);
  const std::vector<const PlacetoGraph*> graphs = {&batch.graph};
  gpu::UpdateCuda update(batch.shape, graphs, batch.weights.values);
  EagerUpdate eager(batch, torch::Device(torch::kCUDA, 0));
  std::vector<double> ours;
  std::vector<double> theirs;
  std::vector<double> ratios;
  for (int turn = 0; turn < kTurns; ++turn) {
    ours.push_back(UpdatesPerSecond(update, batch, options.seconds) * options.states);
    theirs.push_back(eager.PerSecond(options.seconds) * options.states);
    ratios.push_back(ours.back() / theirs.back());
  }
  nlohmann::json document = batch.Describe();
  document["update_states_per_s"] = Median(ours);
  document["libtorch_states_per_s"] = Median(theirs);
  document["times_libtorch"] = Median(ratios);
  return document;
}

int RunLibTorchBench(int argc, char** argv) {
  CLI::App app{"Measures the learner's update on a GPU against LibTorch on the same GPU."};
  GpuBenchOptions options;
  AddGpuBenchOptions(options, app);
  if (const std::optional<int> exit_code = ParseCommandLine(app, argc, argv)) return *exit_code;
  return PrintMeasured([&] { return MeasureAgainstLibTorch(options); });
}

}  // namespace
}  // namespace emplace

int main(int argc, char** argv) {
  return emplace::RunMain("emplace-bench-cuda-libtorch", [&] { return emplace::RunLibTorchBench(argc, argv); });
}
