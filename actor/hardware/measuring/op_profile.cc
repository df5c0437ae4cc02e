#include "actor/hardware/measuring/op_profile.h"

#include <chrono>
#include <cmath>
#include <map>
#include <optional>

#include "actor/hardware/measuring/measurement.h"
#include "common/error.h"
#include "common/quantile.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr int32_t kLeastSteps = 2;
constexpr int32_t kMostSteps = 200;

std::optional<InputShapes> ShapesInTable(const OpGraph& graph, const Op& op) {
  std::optional<InputShapes> shapes = ShapesOfInputs(graph, op);
  if (shapes && shapes->empty()) return std::nullopt;  // A table cannot say that there are none.
  return shapes;
}

// Time of a step that no op accounts for, in us.
double IdleUs(const StepTimes& times) {
  double busy_us = 0;
  for (size_t op = 0; op < times.op_begin_us.size(); ++op) {
    if (!std::isnan(times.op_end_us[op])) busy_us += times.op_end_us[op] - times.op_begin_us[op];
  }
  return times.step_us - busy_us;
}

}  // namespace

RunnablePart FindRunnablePart(const OpGraph& graph, const std::set<Processor>& processors) {
  std::vector<std::string> reasons(static_cast<size_t>(graph.num_ops()));  // Empty: the op can be run.
  for (const OpIndex index : graph.topological_order()) {
    const Op& op = graph.op(index);
    std::string& reason = reasons[static_cast<size_t>(index)];
    for (const OpInput& input : op.inputs) {
      if (reasons[static_cast<size_t>(input.producer)].empty()) continue;
      reason = StrCat("it needs '", graph.op(input.producer).name, "'");
      break;
    }
    for (const Processor processor : processors) {
      if (reason.empty()) reason = WhyItCannotRun(op, processor);
    }
  }
  std::vector<Op> ops;
  std::vector<UnprofiledOp> not_run;
  std::vector<OpIndex> new_index(reasons.size(), Op::kNoCopy);
  for (size_t index = 0; index < reasons.size(); ++index) {
    if (reasons[index].empty()) {
      new_index[index] = static_cast<OpIndex>(ops.size());
      ops.push_back(graph.ops()[index]);
    } else {
      not_run.push_back({graph.ops()[index].name, reasons[index]});
    }
  }
  for (Op& op : ops) {
    for (OpInput& input : op.inputs) input.producer = new_index[static_cast<size_t>(input.producer)];
    if (op.copy_of != Op::kNoCopy) op.copy_of = new_index[static_cast<size_t>(op.copy_of)];
    op.cost = OpCost::Everywhere(1);
    op.allowed.clear();
  }
  return {OpGraph(graph.name(), std::move(ops)), std::move(not_run)};
}

OpProfile ProfileOps(const OpGraph& graph, const Cluster& cluster, DeviceIndex device, double seconds) {
  const Cluster alone{.devices = {cluster.devices[static_cast<size_t>(device)]}, .bandwidth_bytes_per_us = 1};
  Executor executor(graph, alone, {Placement(static_cast<size_t>(graph.num_ops())), {}});
  const auto begin = std::chrono::steady_clock::now();
  executor.Step();
  StepMeasurements measurement;
  std::vector<double> idle_us;
  const auto spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  while (idle_us.size() < kLeastSteps || (spent() < seconds && idle_us.size() < kMostSteps)) {
    const StepTimes& times = executor.Step();
    measurement.Add(times);
    idle_us.push_back(IdleUs(times));
  }

  OpProfile profile{.costs = {}, .steps = static_cast<int32_t>(idle_us.size())};
  std::map<CostKey, ProfiledCost> by_key;
  const std::vector<double> op_us = measurement.MedianOpUs();
  int64_t ops = 0;
  for (size_t index = 0; index < op_us.size(); ++index) {
    if (std::isnan(op_us[index])) continue;
    const Op& op = graph.ops()[index];
    const CostKey key{.type = op.type, .kind = alone.devices[0].kind, .shapes = ShapesInTable(graph, op)};
    ProfiledCost& cost = by_key[key];
    cost.us += op_us[index];
    ++cost.ops;
    ++ops;
  }
  if (ops == 0) throw BadInput(StrCat("graph '", graph.name(), "': none of its ops can be run"));
  for (auto& [key, cost] : by_key) profile.costs.push_back({key, cost.us / static_cast<double>(cost.ops), cost.ops});
  profile.op_overhead_us = Median(idle_us) / static_cast<double>(ops);
  return profile;
}

}  // namespace emplace
