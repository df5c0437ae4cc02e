#include "actor/hardware/measuring/link_profile.h"

#include <algorithm>
#include <array>

#include "actor/hardware/executor.h"
#include "common/error.h"
#include "common/quantile.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr std::array<int64_t, 8> kSizes = {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24};
constexpr int kSteps = 31;
constexpr double kShortestUs = 0.01;
// Ops of each size: what is given, the one that makes the tensor, and the one that reads it elsewhere.
constexpr OpIndex kOpsOfSize = 3;

// For each size in turn: an op on the first device writes a tensor, and one on the second reads it. The next size waits
// until that is done.
OpGraph TransferGraph() {
  std::vector<Op> ops;
  for (const int64_t bytes : kSizes) {
    const OpOutput tensor{.bytes = bytes, .shape = {{bytes / 4}}, .dtype = "f32"};
    const auto first = static_cast<OpIndex>(ops.size());
    Op given;
    given.name = StrCat("given ", bytes);
    given.type = "emplace.input";
    given.outputs = {tensor};
    Op made;
    made.name = StrCat("made ", bytes);
    made.cost = OpCost::Everywhere(1);
    made.inputs = {{first, 0}};
    if (first > 0) made.inputs.push_back({first - 1, OpInput::kControl});
    made.outputs = {tensor};
    made.call_json = R"({"op": "aten.clone.default", "args": [{"in": 0}]})";
    Op read;
    read.name = StrCat("read ", bytes);
    read.cost = OpCost::Everywhere(1);
    read.inputs = {{first + 1, 0}};
    read.outputs = {tensor};
    read.call_json = R"({"op": "aten.alias.default", "args": [{"in": 0}]})";
    ops.insert(ops.end(), {given, made, read});
  }
  return OpGraph("transfers", std::move(ops));
}

}  // namespace

std::vector<TransferTime> TimeTransfers(const Cluster& cluster, DeviceIndex from, DeviceIndex to) {
  const OpGraph graph = TransferGraph();
  const Cluster pair{.devices = {cluster.devices[static_cast<size_t>(from)], cluster.devices[static_cast<size_t>(to)]},
                     .bandwidth_bytes_per_us = 1};
  Placement placement;
  for (OpIndex op = 0; op < graph.num_ops(); ++op) placement.push_back(op % kOpsOfSize == 2 ? 1 : 0);
  Executor executor(graph, pair, {placement, {}});
  executor.Step();
  std::vector<std::vector<double>> samples(kSizes.size());
  for (int step = 0; step < kSteps; ++step) {
    const StepTimes& times = executor.Step();
    for (size_t size = 0; size < kSizes.size(); ++size) {
      const size_t made = size * kOpsOfSize + 1;
      // Of a CPU and a GPU, two clocks, which differ by microseconds.
      samples[size].push_back(std::max(times.op_begin_us[made + 1] - times.op_end_us[made], kShortestUs));
    }
  }
  std::vector<TransferTime> medians;
  for (size_t size = 0; size < kSizes.size(); ++size) medians.push_back({kSizes[size], Median(samples[size])});
  return medians;
}

LinkFit FitLink(const std::vector<TransferTime>& times) {
  EMPLACE_CHECK(times.size() >= 2);
  // Weighted least squares of us = latency + bytes * slope, with weights 1 / us^2: the relative errors count.
  double w = 0;
  double wx = 0;
  double wy = 0;
  double wxx = 0;
  double wxy = 0;
  for (const TransferTime& time : times) {
    const double x = static_cast<double>(time.bytes);
    const double weight = 1 / (time.us * time.us);
    w += weight;
    wx += weight * x;
    wy += weight * time.us;
    wxx += weight * x * x;
    wxy += weight * x * time.us;
  }
  double slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  double latency = (wy - slope * wx) / w;
  if (latency < 0) {
    latency = 0;
    slope = wxy / wxx;
  }
  // Times that do not grow with the size say only that the link is faster than what was sent could show.
  constexpr double kFastest = 1e9;
  return {slope > 1 / kFastest ? 1 / slope : kFastest, latency};
}

}  // namespace emplace
