// Devices files, with their topologies.
#include "simulator/machine/cluster.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace emplace;
  const auto cluster = Accepted([&] { return ParseCluster(InputText(data, size), "devices"); });
  if (!cluster) return 0;
  const std::string written = ClusterToYaml(*cluster);
  const Cluster again = ParseCluster(written, "written");
  EMPLACE_CHECK(ClusterToYaml(again) == written);
  EMPLACE_CHECK(again.num_devices() == cluster->num_devices());
  for (size_t d = 0; d < again.devices.size(); ++d) {
    EMPLACE_CHECK(again.devices[d].name == cluster->devices[d].name &&
                  again.devices[d].kind == cluster->devices[d].kind);
    EMPLACE_CHECK(again.devices[d].memory_bytes == cluster->devices[d].memory_bytes);
  }
  EMPLACE_CHECK(again.topology.nodes == cluster->topology.nodes);
  return 0;
}
