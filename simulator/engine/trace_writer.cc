#include "simulator/engine/trace_writer.h"

#include <concepts>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "common/files/json_text.h"
#include "common/strings.h"
#include "simulator/engine/graph_paths.h"
#include "simulator/engine/memory/memory_over_time.h"
#include "simulator/engine/timeline_rows.h"

namespace emplace {
namespace {

// A row of the display: a process and a thread.
struct Row {
  int32_t process;
  int32_t thread;
};
constexpr int32_t kCompute = 1;
constexpr int32_t kLink = 2;

// Events are written as text: as JSON values those of a large graph take seconds.
class TraceBuilder {
 public:
  TraceBuilder(const OpGraph& graph, const SimGraph& sim, std::span<const DeviceIndex> placement,
               const Timeline& timeline)
      : graph_(graph), sim_(sim), placement_(placement), timeline_(timeline) {}

  std::string Build(const Cluster& cluster) {
    text_ = R"({"displayTimeUnit":"ms","traceEvents":[)";
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
    text_.back() = ']';  // There are names before it, each with a comma behind it.
    return std::move(text_ += "}\n");
  }

 private:
  Row LinkRow(int32_t link) const {
    return sim_.link_model == LinkModel::kTopology ? Row{sim_.num_devices, link} : Row{link, kLink};
  }

  void Append(std::string_view text) { text_ += text; }
  void Append(double number) { text_ += ShortestDouble(number); }
  void Append(std::integral auto number) { text_ += std::to_string(number); }
  // An event of one line, whose fields are such as R"("ts":)", 3.5, R"(,"dur":)", 1.0.
  template <typename... Parts>
  void AddEvent(Row row, const Parts&... fields) {
    text_ += R"({"pid":)";
    Append(row.process);
    text_ += R"(,"tid":)";
    Append(row.thread);
    text_ += ',';
    (Append(fields), ...);
    text_ += "},";
  }

  void AddName(const char* what, Row row, const std::string& name) {
    AddEvent(row, R"("ph":"M","name":")", what, R"(","args":{"name":)", JsonLine(name), "}");
  }

  void AddOps() {
    for (OpIndex o = 0; o < graph_.num_ops(); ++o) {
      const auto i = static_cast<size_t>(o);
      const Op& op = graph_.op(o);
      const std::string type = JsonLine(op.type);
      AddEvent({placement_[i], kCompute}, R"("ph":"X","name":)", JsonLine(op.name), R"(,"cat":)", type, R"(,"ts":)",
               timeline_.start_us[i], R"(,"dur":)", timeline_.finish_us[i] - timeline_.start_us[i],
               R"(,"args":{"type":)", type, R"(,"output_bytes":)", op.OutputBytes(), R"(,"flops":)", op.flops, "}");
    }
  }

  void AddFlow(char phase, int64_t id, Row row, double at_us) {
    // At its end it binds to the slice that encloses the end, not to the next one.
    AddEvent(row, R"("ph":")", std::string_view(&phase, 1), R"(","name":"tensor","cat":"flow","id":)", id, R"(,"ts":)",
             at_us, phase == 'f' ? R"(,"bp":"e")" : "");
  }

  void AddTransfers() {
    const std::vector<OpIndex> producers = TensorProducers(sim_);
    int64_t id = 0;
    for (const Transfer& transfer : timeline_.transfers) {
      const OpIndex from = producers[static_cast<size_t>(transfer.tensor)];
      const std::string name = JsonLine(graph_.op(from).name);
      std::vector<Row> rows;
      for (const int32_t link : LinksOf(sim_, transfer)) rows.push_back(LinkRow(link));
      for (const Row& row : rows) {
        AddEvent(row, R"("ph":"X","cat":"transfer","name":)", name, R"(,"ts":)", transfer.start_us, R"(,"dur":)",
                 transfer.sent_us - transfer.start_us, R"(,"args":{"bytes":)",
                 sim_.tensor_bytes[static_cast<size_t>(transfer.tensor)], "}");
      }
      for (const int32_t reader : sim_.tensor_consumers.Row(transfer.tensor)) {
        const DeviceIndex to = placement_[static_cast<size_t>(reader)];
        if (to == transfer.from || (transfer.to != Transfer::kAllReaders && to != transfer.to)) continue;
        AddFlow('s', id, {transfer.from, kCompute}, timeline_.start_us[static_cast<size_t>(from)]);
        for (const Row& row : rows) AddFlow('t', id, row, transfer.start_us);
        AddFlow('f', id, {to, kCompute}, timeline_.start_us[static_cast<size_t>(reader)]);
        ++id;
      }
    }
  }

  void AddMemory() {
    const std::vector<std::vector<MemorySample>> samples = MemoryOverTime(sim_, placement_, timeline_);
    for (size_t d = 0; d < samples.size(); ++d) {
      for (const MemorySample& sample : samples[d]) {
        AddEvent({static_cast<int32_t>(d), kCompute}, R"("ph":"C","name":"memory","ts":)", sample.time_us,
                 R"(,"args":{"bytes":)", sample.bytes, "}");
      }
    }
  }

  const OpGraph& graph_;
  const SimGraph& sim_;
  std::span<const DeviceIndex> placement_;
  const Timeline& timeline_;
  std::string text_;
};

}  // namespace

std::string TraceToJson(const OpGraph& graph, const Cluster& cluster, const SimGraph& sim,
                        std::span<const DeviceIndex> placement, const Timeline& timeline) {
  return TraceBuilder(graph, sim, placement, timeline).Build(cluster);
}

}  // namespace emplace
