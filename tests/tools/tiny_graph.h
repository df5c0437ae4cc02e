// A folder for tests of the command, with a graph of three ops, machines of two and of three devices, and a policy.
#pragma once

#include "common/files/file_io.h"
#include "policy/placeto/placeto_kind.h"
#include "policy/policy_weights.h"
#include "tests/tools/cli_folder.h"

namespace emplace {

// Two independent ops, then a join: on two devices with free transfers it takes max(10, 20) + 5.
inline constexpr char kGraph[] = R"({"format": "emplace.graph/1", "name": "tiny", "ops": [
  {"name": "a", "type": "aten.mm", "cost_us": 10, "inputs": [], "outputs": [{"bytes": 0}]},
  {"name": "b", "type": "aten.mm", "cost_us": 20, "inputs": [], "outputs": [{"bytes": 0}]},
  {"name": "c", "type": "aten.add", "cost_us": 5, "inputs": ["a:0", "b:0"], "outputs": []}]})";
inline constexpr char kDevices[] = R"(
devices:
  - {name: "gpu:0", kind: k80, memory_bytes: 11.0e9}
  - {name: "gpu:1", kind: k80, memory_bytes: 11.0e9}
op_overhead_us: 0
transfer: {bandwidth_bytes_per_us: 1000, overhead_us: 0}
)";
inline constexpr char kThreeDevices[] = R"(
devices:
  - {name: "gpu:0", kind: k80, memory_bytes: 11.0e9}
  - {name: "gpu:1", kind: k80, memory_bytes: 11.0e9}
  - {name: "gpu:2", kind: k80, memory_bytes: 11.0e9}
op_overhead_us: 0
transfer: {bandwidth_bytes_per_us: 1000, overhead_us: 0}
)";

// g.graph.json, d.yaml, d3.yaml and, for two devices, p.safetensors.
class TinyGraphFolder : public CliFolder {
 protected:
  TinyGraphFolder() {
    Write("g.graph.json", kGraph);
    Write("d.yaml", kDevices);
    Write("d3.yaml", kThreeDevices);
    WriteFileAtomically(folder_ / "p.safetensors",
                        SerializePolicy(InitialPlaceto(PlacetoShape{.num_devices = 2}, Rng(1))));
  }
};

}  // namespace emplace
