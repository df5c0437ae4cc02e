// Sections `workload` and `grouping` of a run's configuration: the graphs, the machine, and how ops are grouped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/field_table.h"
#include "simulator/graph/grouping.h"

namespace emplace {

// The family of a run that trains on instances without end (simulator/instances), by evolution.
inline constexpr char kInstances[] = "instances";

struct WorkloadConfig {
  std::string family = "ptb";
  bool endless() const { return family == kInstances; }
  int64_t count = 32;
  int64_t train = 20;
  int64_t validation = 4;
  uint64_t seed = 1;
  std::string size = "full";
  std::string dtype = "f32";
  bool calls = false;
  std::vector<std::string> ranges;
  std::vector<std::string> train_graphs;
  std::vector<std::string> validation_graphs;
  std::vector<std::string> test_graphs;
  std::string devices = "clusters/k80x2.yaml";
};

struct GroupingConfig {
  int64_t max_groups = kDefaultMaxGroups;
};

FieldTable<WorkloadConfig> WorkloadFields();
FieldTable<GroupingConfig> GroupingFields();

}  // namespace emplace
