#include "simulator/trace_writer.h"

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "simulator/peak_memory.h"

namespace emplace {
namespace {

using Json = nlohmann::ordered_json;

// A row of the display: a process and a thread.
struct Row {
  int32_t process;
  int32_t thread;
};
constexpr int32_t kCompute = 1;
constexpr int32_t kLink = 2;

class TraceBuilder {
 public:
  TraceBuilder(const OpGraph& graph, const SimGraph& sim, std::span<const DeviceIndex> placement, const Timeline& timeline)
      : graph_(graph), sim_(sim), placement_(placement), timeline_(timeline) {}

  std::string Build(const Cluster& cluster) {
    const bool has_topology = sim_.link_model == LinkModel::kTopology;
    for (DeviceIndex d = 0; d < cluster.num_devices(); ++d) {
      const Device& device = cluster.devices[static_cast<size_t>(d)];
      AddName("process_name", {d, kCompute}, device.name + " (" + device.kind + ")");
      AddName("thread_name", {d, kCompute}, "compute");
      if (!has_topology) AddName("thread_name", {d, kLink}, "link");
    }
    if (has_topology) {
      AddName("process_name", ChannelRow(0), "network");
      for (int32_t c = 0; c < sim_.routes.num_channels; ++c) {
        AddName("thread_name", ChannelRow(c), ChannelName(cluster.topology, c));
      }
    }
    AddOps();
    AddTransfers();
    AddMemory();
    return Json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events_)}}.dump() + "\n";
  }

 private:
  Row ChannelRow(int32_t channel) const { return {sim_.num_devices, channel}; }

  // The rows on which a transfer shows.
  std::vector<Row> RowsOf(const Transfer& transfer) const {
    if (sim_.link_model != LinkModel::kTopology) return {{transfer.from, kLink}};
    std::vector<Row> rows;
    for (const int32_t channel : sim_.routes.channels.Row(transfer.from * sim_.num_devices + transfer.to)) {
      rows.push_back(ChannelRow(channel));
    }
    return rows;
  }

  void AddName(const char* what, Row row, const std::string& name) {
    events_.push_back({{"ph", "M"}, {"name", what}, {"pid", row.process}, {"tid", row.thread}, {"args", {{"name", name}}}});
  }

  void AddOps() {
    for (OpIndex o = 0; o < graph_.num_ops(); ++o) {
      const auto i = static_cast<size_t>(o);
      const Op& op = graph_.op(o);
      events_.push_back({{"ph", "X"},
                         {"name", op.name},
                         {"cat", op.type},
                         {"pid", placement_[i]},
                         {"tid", kCompute},
                         {"ts", timeline_.start_us[i]},
                         {"dur", timeline_.finish_us[i] - timeline_.start_us[i]},
                         {"args", {{"type", op.type}, {"output_bytes", op.OutputBytes()}, {"flops", op.flops}}}});
    }
  }

  void AddFlow(const char* phase, int64_t id, Row row, double at_us) {
    Json event = {{"ph", phase}, {"name", "tensor"}, {"cat", "flow"}, {"id", id}, {"pid", row.process},
                  {"tid", row.thread}, {"ts", at_us}};
    if (*phase == 'f') event["bp"] = "e";  // Bind to the slice that encloses the end, not to the next one.
    events_.push_back(std::move(event));
  }

  void AddTransfers() {
    std::vector<OpIndex> producer(sim_.tensor_bytes.size());
    for (OpIndex o = 0; o < sim_.num_ops; ++o) {
      const auto i = static_cast<size_t>(o);
      for (int32_t t = sim_.tensor_begin[i]; t < sim_.tensor_begin[i + 1]; ++t) producer[static_cast<size_t>(t)] = o;
    }
    int64_t id = 0;
    for (const Transfer& transfer : timeline_.transfers) {
      const OpIndex from = producer[static_cast<size_t>(transfer.tensor)];
      const std::string& name = graph_.op(from).name;
      const std::vector<Row> rows = RowsOf(transfer);
      for (const Row& row : rows) {
        events_.push_back({{"ph", "X"},
                           {"name", name},
                           {"cat", "transfer"},
                           {"pid", row.process},
                           {"tid", row.thread},
                           {"ts", transfer.start_us},
                           {"dur", transfer.delivered_us - transfer.start_us},
                           {"args", {{"bytes", sim_.tensor_bytes[static_cast<size_t>(transfer.tensor)]}}}});
      }
      for (const int32_t reader : sim_.tensor_consumers.Row(transfer.tensor)) {
        const DeviceIndex to = placement_[static_cast<size_t>(reader)];
        if (to == transfer.from || (transfer.to != Transfer::kAllReaders && to != transfer.to)) continue;
        AddFlow("s", id, {transfer.from, kCompute}, timeline_.start_us[static_cast<size_t>(from)]);
        for (const Row& row : rows) AddFlow("t", id, row, transfer.start_us);
        AddFlow("f", id, {to, kCompute}, timeline_.start_us[static_cast<size_t>(reader)]);
        ++id;
      }
    }
  }

  // By the rule of peak memory, so that the counter's highest value is the reported peak: two samples at a time, one after
  // what is taken and one after what is released.
  void AddMemory() {
    struct Change {
      int64_t taken = 0;
      int64_t released = 0;
    };
    std::vector<std::map<double, Change>> changes(static_cast<size_t>(sim_.num_devices));
    for (OpIndex o = 0; o < sim_.num_ops; ++o) {
      const auto i = static_cast<size_t>(o);
      std::map<double, Change>& device = changes[static_cast<size_t>(placement_[i])];
      device[0].taken += sim_.param_bytes[i];
      device[timeline_.start_us[i]].taken += sim_.output_bytes[i] + sim_.temp_bytes[i];
      device[timeline_.finish_us[i]].released += sim_.temp_bytes[i];
      device[HeldUntil(sim_, o, placement_, timeline_.start_us)].released += sim_.output_bytes[i];
    }
    for (size_t d = 0; d < changes.size(); ++d) {
      int64_t held = 0;
      for (const auto& [time_us, change] : changes[d]) {
        if (change.taken > 0) AddSample(d, time_us, held += change.taken);
        if (change.released > 0) AddSample(d, time_us, held -= change.released);
      }
    }
  }

  void AddSample(size_t device, double time_us, int64_t bytes) {
    events_.push_back({{"ph", "C"}, {"name", "memory"}, {"pid", device}, {"ts", time_us}, {"args", {{"bytes", bytes}}}});
  }

  const OpGraph& graph_;
  const SimGraph& sim_;
  std::span<const DeviceIndex> placement_;
  const Timeline& timeline_;
  Json::array_t events_;
};

}  // namespace

std::string TraceToJson(const OpGraph& graph, const Cluster& cluster, const SimGraph& sim,
                        std::span<const DeviceIndex> placement, const Timeline& timeline) {
  return TraceBuilder(graph, sim, placement, timeline).Build(cluster);
}

}  // namespace emplace
