#include "actor/hardware/search/corrected_costs.h"

#include <cmath>
#include <utility>

#include "common/error.h"
#include "common/quantile.h"
#include "common/strings.h"
#include "simulator/graph/measured_costs.h"

namespace emplace {
namespace {

// As how many observations the wider class counts. Within a class, times of single ops differ from the given ones by
// some ten percent up and down, so a few of them say what the class is like.
constexpr double kPriorOps = 4;
// Copies of a few KB take the time of waking a thread, which varies much more.
constexpr double kPriorCopies = 16;

RatioClass ClassOfLink(size_t link) { return {"links", StrCat(link)}; }

}  // namespace

CorrectedCosts::CorrectedCosts(const OpGraph& graph, const Cluster& machine, DeviceIndex reference)
    : graph_(graph),
      machine_(machine),
      reference_(static_cast<size_t>(graph.num_ops()), reference),
      sim_(SimGraph::Compile(graph, machine)),
      ops_(kPriorOps),
      links_(kPriorCopies) {
  for (const Op& op : graph.ops()) shapes_.push_back(ShapesToText(ShapesOfInputs(graph, op)));
}

void CorrectedCosts::Add(const Placement& placement, const MeasuredStep& step) {
  EMPLACE_CHECK(placement.size() == reference_.size());
  reference_us_.push_back(step.reference_us);
  AddParts(reference_, step.reference_parts, step.reference_us);
  AddParts(placement, step.placement_parts, step.reference_us);
}

double CorrectedCosts::ReferenceUs() const { return Median(reference_us_); }

void CorrectedCosts::AddParts(const Placement& placement, const PartTimes& parts, double reference_us) {
  for (size_t op = 0; op < parts.op_us.size(); ++op) {
    if (std::isnan(parts.op_us[op])) continue;
    const auto device = static_cast<size_t>(placement[op]);
    const double given_us = sim_.cost_us[op * machine_.devices.size() + device];
    ops_.Add(ClassOf(static_cast<OpIndex>(op), machine_.devices[device].kind), given_us,
             parts.op_us[op] / reference_us);
  }
  for (const CopyTime& copy : parts.copies) {
    const DeviceIndex from = placement[static_cast<size_t>(copy.op)];
    const int64_t bytes = graph_.op(copy.op).outputs[static_cast<size_t>(copy.output)].bytes;
    const double given_us = sim_.LinkTimesOf(from, copy.to).TransferUs(bytes);
    for (const size_t link : LinksOf(from, copy.to)) links_.Add(ClassOfLink(link), given_us, copy.us / reference_us);
  }
}

RatioClass CorrectedCosts::ClassOf(OpIndex op, const std::string& kind) const {
  return {kind, graph_.op(op).type, shapes_[static_cast<size_t>(op)]};
}

std::vector<size_t> CorrectedCosts::LinksOf(DeviceIndex from, DeviceIndex to) const {
  if (machine_.link_model != LinkModel::kTopology) return {0};
  std::vector<size_t> links;
  for (const int32_t channel : sim_.routes.channels.Row(from * machine_.num_devices() + to)) {
    links.push_back(static_cast<size_t>(channel / 2));
  }
  return links;
}

Costs CorrectedCosts::Get() const {
  if (empty()) return {.graph = graph_, .machine = machine_};
  const double unit_us = ReferenceUs();
  return {
      .graph = ScaleOps(graph_, machine_,
                        [&](OpIndex op, const std::string& kind) { return ops_.Ratio(ClassOf(op, kind), unit_us); }),
      .machine = ScaleLinks(machine_, [&](size_t link) { return links_.Ratio(ClassOfLink(link), unit_us); })};
}

}  // namespace emplace
