// Measures the learner's update on a GPU: states a second, and each kernel beside the roofline, the time that the GPU
// would need at its peak rates of arithmetic and of memory. Prints one JSON document; where there is no GPU, one line.
//
//   emplace-bench-cuda [--states 512] [--groups 128] [--rounds 8] [--width 0] [--seconds 2]
#include <cuda_runtime_api.h>

#include <algorithm>
#include <optional>

#include "common/command_line.h"
#include "common/error.h"
#include "common/quantile.h"
#include "tools/bench/cuda/gpu_bench.h"

namespace emplace {
namespace {

// Floating-point operations of a state's forward pass, a multiply-add counted as two: without padding.
double ForwardFlops(const PlacetoShape& shape, double nodes) {
  const std::vector<LayerSpec> layers = PlacetoLayers(shape);
  double multiply_adds = 0;
  for (const LayerSpec& layer : layers) {
    const double size = static_cast<double>(layer.in) * layer.out;
    const bool message = layer.name.starts_with("forward.") || layer.name.starts_with("backward.");
    const bool pool = layer.name.find(".F.") != std::string::npos;
    const double times = message                           ? nodes * shape.message_rounds
                         : layer.name.starts_with("self.") ? nodes
                         : pool                            ? nodes / 3  // A node is in one of the three sets.
                                                           : 1;
    multiply_adds += times * size;
  }
  return 2 * multiply_adds;
}

// The most that the device can do, by what it says of itself.
struct Peaks {
  double flops;  // Float32 multiply-adds, two operations each, a second
  double bytes;  // From and to its memory, a second
};
Peaks PeaksOfDevice() {
  const auto attribute = [](cudaDeviceAttr name) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, name, 0) != cudaSuccess) throw RunFailed("cannot ask the device");
    return static_cast<double>(value);
  };
  const double major = attribute(cudaDevAttrComputeCapabilityMajor);
  const double units = major == 8 && attribute(cudaDevAttrComputeCapabilityMinor) == 0 ? 64 : 128;
  constexpr double kHzOfKhz = 1e3;
  constexpr double kBitsOfByte = 8;
  const double operations = 2 * units * attribute(cudaDevAttrMultiProcessorCount);    // In a cycle
  const double moved = 2 * attribute(cudaDevAttrGlobalMemoryBusWidth) / kBitsOfByte;  // Twice in a cycle
  return {operations * attribute(cudaDevAttrClockRate) * kHzOfKhz,
          moved * attribute(cudaDevAttrMemoryClockRate) * kHzOfKhz};
}

nlohmann::json TimeKernels(gpu::UpdateCuda& update, const GpuBatch& batch, const Peaks& peaks) {
  constexpr int kRepetitions = 20;
  std::vector<gpu::KernelWork> kernels;
  std::vector<std::vector<double>> us;  // Of each kernel
  for (int i = 0; i < kRepetitions; ++i) {
    const std::vector<gpu::KernelTime> times = update.TimeKernels(batch.episodes, batch.states, batch.scalars);
    us.resize(times.size());
    kernels.clear();
    for (size_t k = 0; k < times.size(); ++k) {
      kernels.push_back(times[k].work);
      us[k].push_back(times[k].us);
    }
  }
  nlohmann::json rows = nlohmann::json::array();
  for (size_t k = 0; k < kernels.size(); ++k) {
    const double median_us = Median(us[k]);
    const double compute_us = 1e6 * kernels[k].flops / peaks.flops;
    const double memory_us = 1e6 * kernels[k].bytes / peaks.bytes;
    rows.push_back({{"kernel", kernels[k].kernel},
                    {"us", median_us},
                    {"flops", kernels[k].flops},
                    {"bytes", kernels[k].bytes},
                    {"bound", compute_us > memory_us ? "arithmetic" : "memory"},
                    {"share_of_roofline", std::max(compute_us, memory_us) / median_us}});
  }
  return rows;
}

nlohmann::json MeasureUpdate(const GpuBenchOptions& options) {
  const GpuBatch batch(options);
  const std::vector<const PlacetoGraph*> graphs = {&batch.graph};
  gpu::UpdateCuda update(batch.shape, graphs, batch.weights.values);
  const double states_per_s = UpdatesPerSecond(update, batch, options.seconds) * options.states;
  const double flops = 3 * ForwardFlops(batch.shape, batch.graph.num_nodes);  // The way back is twice as long.
  const Peaks peaks = PeaksOfDevice();
  nlohmann::json document = batch.Describe();
  document["update_states_per_s"] = states_per_s;
  document["flops_per_state"] = flops;
  document["share_of_float32_peak"] = states_per_s * flops / peaks.flops;
  document["peak_flops_per_s"] = peaks.flops;
  document["peak_bytes_per_s"] = peaks.bytes;
  document["kernels"] = TimeKernels(update, batch, peaks);
  return document;
}

int RunCudaBench(int argc, char** argv) {
  CLI::App app{"Measures the learner's update on a GPU, and each of its kernels."};
  GpuBenchOptions options;
  AddGpuBenchOptions(options, app);
  if (const std::optional<int> exit_code = ParseCommandLine(app, argc, argv)) return *exit_code;
  return PrintMeasured([&] { return MeasureUpdate(options); });
}

}  // namespace
}  // namespace emplace

int main(int argc, char** argv) {
  return emplace::RunMain("emplace-bench-cuda", [&] { return emplace::RunCudaBench(argc, argv); });
}
