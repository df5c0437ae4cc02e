#include "simulator/engine/contraction.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "common/csr.h"
#include "common/sort_unique.h"
#include "simulator/engine/free_sources.h"
#include "simulator/engine/graph_paths.h"

namespace emplace {
namespace {

// Keeps the cost of what has ops that cost something above 0, so that the overhead comes on top.
constexpr double kLeastCostUs = 1e-3;

// [n] how often the op's group has to wait: along any path it grows wherever the group's number falls, so that by
// (waits, group) no edge points back.
std::vector<int32_t> WaitsOf(const SimGraph& whole, std::span<const GroupIndex> group_of_op,
                             const std::vector<uint8_t>& is_free) {
  std::vector<int32_t> waits(group_of_op.size());
  for (const OpIndex op : TopologicalOrder(whole)) {
    const auto from = static_cast<size_t>(op);
    if (is_free[from] == 1) continue;
    for (const OpIndex reader : whole.ReadersOf(op)) {
      const auto to = static_cast<size_t>(reader);
      waits[to] = std::max(waits[to], waits[from] + (group_of_op[from] > group_of_op[to] ? 1 : 0));
    }
  }
  return waits;
}

std::vector<OpIndex> OpsOfContraction(const SimGraph& whole, std::span<const GroupIndex> group_of_op) {
  const std::vector<uint8_t> is_free = FreeSources(whole);
  const std::vector<int32_t> waits = WaitsOf(whole, group_of_op, is_free);
  using Key = std::pair<int32_t, GroupIndex>;
  std::vector<std::pair<Key, size_t>> keys;
  std::vector<OpIndex> op_of(group_of_op.size());
  OpIndex next = 0;
  for (size_t op = 0; op < op_of.size(); ++op) {
    if (is_free[op] == 1) {
      op_of[op] = next++;
    } else {
      keys.push_back({{waits[op], group_of_op[op]}, op});
    }
  }
  std::ranges::sort(keys);
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i > 0 && keys[i].first != keys[i - 1].first) ++next;
    op_of[keys[i].second] = next;
  }
  return op_of;
}

// As many bytes take as long to send as the pause between two transfers. With a topology that differs by route, and
// transfers over other links do not wait: there pauses do not count.
int64_t OverheadBytes(const SimGraph& whole) {
  constexpr double kMostBytes = 1e12;  // So that sums stay far from overflow.
  if (whole.link_model == LinkModel::kTopology) return 0;
  return std::llround(std::min(kMostBytes, whole.transfer_overhead_us * whole.bandwidth_bytes_per_us));
}

class Contractor {
 public:
  Contractor(const SimGraph& whole, const std::vector<OpIndex>& op_of)
      : whole_(whole),
        op_of_(op_of),
        devices_(static_cast<size_t>(whole.num_devices)),
        overhead_bytes_(OverheadBytes(whole)) {}

  SimGraph Make() {
    const auto ops = static_cast<size_t>(CountOf(op_of_));
    graph_ = whole_.WithoutOps();
    graph_.num_ops = static_cast<int32_t>(ops);
    graph_.cost_us.assign(ops * devices_, 0);
    graph_.param_bytes.assign(ops, 0);
    graph_.output_bytes.assign(ops, 0);
    graph_.temp_bytes.assign(ops, 0);
    graph_.staying_bytes.assign(ops, 0);
    graph_.num_inputs.assign(ops, 0);
    const Csr members = CsrFromPairs(graph_.num_ops, [&](auto visit) {
      for (OpIndex op = 0; op < whole_.num_ops; ++op) visit(op_of_[static_cast<size_t>(op)], op);
    });
    for (OpIndex op = 0; op < graph_.num_ops; ++op) {
      for (const OpIndex member : members.Row(op)) Add(op, member);
      EndOp(static_cast<size_t>(op));
    }
    return std::move(graph_);
  }

 private:
  // A tensor of the contracted graph.
  struct Sent {
    int64_t bytes = 0;
    int64_t held_bytes = 0;
  };

  void Add(OpIndex op, OpIndex member) {
    const auto to = static_cast<size_t>(op);
    const auto from = static_cast<size_t>(member);
    for (size_t d = 0; d < devices_; ++d)
      graph_.cost_us[to * devices_ + d] += whole_.BusyUs(member, static_cast<DeviceIndex>(d));
    graph_.param_bytes[to] += whole_.param_bytes[from];
    const int64_t staying_bytes = whole_.staying_bytes[from];
    int64_t held_bytes = 0;  // By tensors that are sent to other groups.
    for (const int32_t tensor : whole_.TensorsOf(member)) {
      std::vector<OpIndex> readers;
      for (const OpIndex reader : whole_.tensor_consumers.Row(tensor)) {
        const OpIndex by = op_of_[static_cast<size_t>(reader)];
        if (by != op) readers.push_back(by);
      }
      if (readers.empty()) continue;
      SortUnique(readers);
      const auto t = static_cast<size_t>(tensor);
      const auto [sent, is_first] = sent_.try_emplace(std::move(readers));
      if (!is_first) sent->second.bytes += overhead_bytes_;
      sent->second.bytes += whole_.tensor_bytes[t];
      sent->second.held_bytes += whole_.tensor_held_bytes[t];
      held_bytes += whole_.tensor_held_bytes[t];
    }
    graph_.output_bytes[to] += held_bytes + staying_bytes;
    graph_.staying_bytes[to] += staying_bytes;
    graph_.temp_bytes[to] = std::max(graph_.temp_bytes[to],
                                     whole_.temp_bytes[from] + whole_.output_bytes[from] - held_bytes - staying_bytes);
  }

  void EndOp(size_t op) {
    for (size_t d = 0; d < devices_; ++d) {
      double& us = graph_.cost_us[op * devices_ + d];
      if (us > 0) us = std::max(us - whole_.op_overhead_us, kLeastCostUs);
    }
    for (const auto& [readers, sent] : sent_) {
      graph_.tensor_bytes.push_back(sent.bytes);
      graph_.tensor_held_bytes.push_back(sent.held_bytes);
      for (const OpIndex reader : readers) {
        graph_.tensor_consumers.items.push_back(reader);
        ++graph_.num_inputs[static_cast<size_t>(reader)];
      }
      graph_.tensor_consumers.begin.push_back(static_cast<int32_t>(graph_.tensor_consumers.items.size()));
    }
    sent_.clear();
    graph_.tensor_begin.push_back(static_cast<int32_t>(graph_.tensor_bytes.size()));
  }

  const SimGraph& whole_;
  const std::vector<OpIndex>& op_of_;
  const size_t devices_;
  const int64_t overhead_bytes_;
  SimGraph graph_;
  std::map<std::vector<OpIndex>, Sent> sent_;  // By who reads it, of the op being made.
};

}  // namespace

Contraction Contract(const SimGraph& whole, std::span<const GroupIndex> group_of_op) {
  Contraction contraction;
  contraction.op_of = OpsOfContraction(whole, group_of_op);
  contraction.graph = Contractor(whole, contraction.op_of).Make();
  return contraction;
}

}  // namespace emplace
