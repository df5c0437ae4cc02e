// Emplace for C++ programs: reads graphs and machines, and decides where the ops of a graph should run.
//
//   find_package(Emplace REQUIRED)                       # in CMakeLists.txt
//   target_link_libraries(mine PRIVATE Emplace::emplace)
//
//   const auto graph = emplace::Graph::Load("my.graph.json");
//   const auto machine = emplace::Machine::Load("devices.yaml");
//   const emplace::Plan plan = emplace::Place(graph, machine);
//
// n is the number of ops and D that of devices. Times are in microseconds. Wrong input throws std::invalid_argument
// with one line that says place, value and expectation; what fails for another reason throws std::runtime_error, or
// std::bad_alloc where memory is short. All functions may be called from any thread, and graphs and machines may be
// shared between threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#define EMPLACE_API __attribute__((visibility("default")))

namespace emplace {

class OpGraph;
struct Cluster;

// A computation graph (format emplace.graph/1). Immutable; copies share it.
class EMPLACE_API Graph {
 public:
  static Graph Load(const std::string& path);   // *.graph.json or *.graph.json.zst
  static Graph Parse(const std::string& json);  // The text of such a file.

  const std::string& name() const;
  int32_t num_ops() const;               // n
  std::vector<std::string> ops() const;  // [n] names

  const OpGraph& internal() const { return *graph_; }  // For the library itself.

 private:
  explicit Graph(std::shared_ptr<const OpGraph> graph);
  std::shared_ptr<const OpGraph> graph_;
};

// Devices and the links between them. Immutable; copies share it.
class EMPLACE_API Machine {
 public:
  static Machine Load(const std::string& path);   // A devices file, YAML.
  static Machine Parse(const std::string& yaml);  // The text of such a file.

  std::vector<std::string> devices() const;  // [D] names

  const Cluster& internal() const { return *cluster_; }  // For the library itself.

 private:
  explicit Machine(std::shared_ptr<const Cluster> cluster);
  std::shared_ptr<const Cluster> cluster_;
};

// As of `emplace place`, whose help has more about each. What is minimized is the time of a step.
struct PlaceOptions {
  std::string method = "auto";
  // Wall time that a searching method may take, also beside a budget. 0: `budget` alone ends it, and the result is then
  // the same on every machine.
  double seconds = 1;
  int64_t budget = 0;  // Number of placements that it may simulate; 0: any number.
  std::string order;   // A discipline in whose order devices run their ops, or "none"; empty: `auto` may give one.
  // Path of a policy.safetensors or a run directory; "none": no policy; empty: the trained planner that is installed
  // with the library.
  std::string policy;
  // Options that some methods alone have, such as {"samples", "8"} of "policy", as flags of `emplace place --help`.
  std::map<std::string, std::string> method_options;
  std::optional<int64_t> max_groups;  // Ops are placed in at most this many groups, or for 0 each by itself.
  int threads = 0;                    // At most 1024; 0: one for each core.
  uint64_t seed = 1;
};

struct Plan {
  std::vector<int32_t> placement;            // [n] index of each op's device
  std::vector<std::vector<int32_t>> orders;  // [D] ops of each device, first to last; empty: as they get ready.
  double makespan_us = 0;                    // Simulated time of one step.
  double single_device_us = 0;               // That of the best single device; infinity: none may run every op.
  double lower_bound_us = 0;                 // No placement that fits the memory is faster; 0: not known.
  std::vector<int64_t> peak_bytes;           // [D] simulated peak memory
  bool feasible = true;                      // Whether each device's peak fits its memory.
  std::string found_by;                      // The part of the method that found it.
  int64_t evaluations = 0;                   // Simulated placements.
  double seconds = 0;                        // Wall time of the method.
};

// Never worse than the best single device.
EMPLACE_API Plan Place(const Graph& graph, const Machine& machine, const PlaceOptions& options = {});

struct Simulation {
  double makespan_us = 0;           // Time of one step.
  std::vector<int64_t> peak_bytes;  // [D]
  bool feasible = true;             // Whether each device's peak fits its memory.
};

// Simulates one step of a placement [n]. orders: as of Plan.
EMPLACE_API Simulation Simulate(const Graph& graph, const Machine& machine, const std::vector<int32_t>& placement,
                                const std::vector<std::vector<int32_t>>& orders = {});

// The text of a plan's file (format emplace.placement/1).
EMPLACE_API std::string ToJson(const Graph& graph, const Machine& machine, const Plan& plan);

// "0.2.0"
EMPLACE_API std::string Version();

}  // namespace emplace
