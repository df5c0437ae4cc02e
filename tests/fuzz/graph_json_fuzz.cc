// *.graph.json and *.graph.json.zst, up to the task that a learner makes of a graph and its actors take apart.
#include "common/files/file_io.h"
#include "simulator/graph/graph_io.h"
#include "simulator/task/task_bundle.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/same_bundle.h"
#include "tests/fuzz/small_machine.h"

namespace {

constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD";
constexpr size_t kMostUnpacked = size_t{1} << 20;
constexpr int32_t kMostOps = 200;  // More take longer and show nothing new.
constexpr int32_t kGroups = 8;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace emplace;
  static const Cluster cluster = SmallCluster();
  const auto graph = Accepted([&] {
    const std::string_view text = InputText(data, size);
    if (!text.starts_with(kZstdMagic)) return ParseGraph(text, "graph");
    return ParseGraph(DecompressZstd(text, "graph.zst", kMostUnpacked), "graph.zst");
  });
  if (!graph) return 0;
  const std::string written = GraphToJson(*graph);
  EMPLACE_CHECK(GraphToJson(ParseGraph(written, "written")) == written);
  EMPLACE_CHECK(DecompressZstd(CompressZstd(written), "packed", written.size()) == written);

  if (graph->num_ops() > kMostOps) return 0;
  const auto task = Accepted([&] { return PlacementTask::Make(*graph, cluster, kGroups); });
  if (!task) return 0;
  const ArrayBundle bundle = ToBundle(*task);
  EMPLACE_CHECK(SameBundle(ToBundle(TaskFromBundle(bundle)), bundle));
  return 0;
}
