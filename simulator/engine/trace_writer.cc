#include "simulator/engine/trace_writer.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "simulator/engine/memory/memory_over_time.h"
#include "simulator/engine/timeline_rows.h"

namespace emplace {
namespace {

using OrderedJson = nlohmann::ordered_json;

// A row of the display: a process and a thread.
struct Row {
  int32_t process;
  int32_t thread;
};
constexpr int32_t kCompute = 1;
constexpr int32_t kLink = 2;

class TraceBuilder {
 public:
  TraceBuilder(const OpGraph& graph, const SimGraph& sim, std::span<const DeviceIndex> placement,
               const Timeline& timeline)
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
      AddName("process_name", LinkRow(0), "network");
      const std::vector<std::string> names = LinkNames(cluster);
      for (size_t link = 0; link < names.size(); ++link) {
        AddName("thread_name", LinkRow(static_cast<int32_t>(link)), names[link]);
      }
    }
    AddOps();
    AddTransfers();
    AddMemory();
    return OrderedJson{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events_)}}.dump() + "\n";
  }

 private:
  Row LinkRow(int32_t link) const {
    return sim_.link_model == LinkModel::kTopology ? Row{sim_.num_devices, link} : Row{link, kLink};
  }

  void AddName(const char* what, Row row, const std::string& name) {
    events_.push_back(
        {{"ph", "M"}, {"name", what}, {"pid", row.process}, {"tid", row.thread}, {"args", {{"name", name}}}});
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
    OrderedJson event = {{"ph", phase},        {"name", "tensor"},  {"cat", "flow"}, {"id", id},
                         {"pid", row.process}, {"tid", row.thread}, {"ts", at_us}};
    if (*phase == 'f') event["bp"] = "e";  // Bind to the slice that encloses the end, not to the next one.
    events_.push_back(std::move(event));
  }

  void AddTransfers() {
    const std::vector<OpIndex> producers = TensorProducers(sim_);
    int64_t id = 0;
    for (const Transfer& transfer : timeline_.transfers) {
      const OpIndex from = producers[static_cast<size_t>(transfer.tensor)];
      const std::string& name = graph_.op(from).name;
      std::vector<Row> rows;
      for (const int32_t link : LinksOf(sim_, transfer)) rows.push_back(LinkRow(link));
      for (const Row& row : rows) {
        events_.push_back({{"ph", "X"},
                           {"name", name},
                           {"cat", "transfer"},
                           {"pid", row.process},
                           {"tid", row.thread},
                           {"ts", transfer.start_us},
                           {"dur", transfer.sent_us - transfer.start_us},
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

  void AddMemory() {
    const std::vector<std::vector<MemorySample>> samples = MemoryOverTime(sim_, placement_, timeline_);
    for (size_t d = 0; d < samples.size(); ++d) {
      for (const MemorySample& sample : samples[d]) AddSample(d, sample.time_us, sample.bytes);
    }
  }

  void AddSample(size_t device, double time_us, int64_t bytes) {
    events_.push_back(
        {{"ph", "C"}, {"name", "memory"}, {"pid", device}, {"ts", time_us}, {"args", {{"bytes", bytes}}}});
  }

  const OpGraph& graph_;
  const SimGraph& sim_;
  std::span<const DeviceIndex> placement_;
  const Timeline& timeline_;
  OrderedJson::array_t events_;
};

}  // namespace

std::string TraceToJson(const OpGraph& graph, const Cluster& cluster, const SimGraph& sim,
                        std::span<const DeviceIndex> placement, const Timeline& timeline) {
  return TraceBuilder(graph, sim, placement, timeline).Build(cluster);
}

}  // namespace emplace
