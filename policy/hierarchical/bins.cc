#include "policy/hierarchical/bins.h"

#include <algorithm>
#include <array>

namespace emplace {

int32_t NumBins(int32_t num_devices) { return std::min(256, 20 * num_devices); }

UsedBins::UsedBins(const GroupGraph& graph, std::span<const uint8_t> bins_of_groups)
    : num_devices(static_cast<size_t>(graph.num_devices)) {
  constexpr int kNone = -1;
  std::array<int, 256> item_of_bin{};
  item_of_bin.fill(kNone);
  for (size_t group = 0; group < bins_of_groups.size(); ++group) {
    int& item = item_of_bin[bins_of_groups[group]];
    if (item == kNone) {
      item = static_cast<int>(bins.size());
      bins.push_back(bins_of_groups[group]);
      allowed.resize(allowed.size() + num_devices);
    }
    item_of_group.push_back(static_cast<uint8_t>(item));
    for (size_t d = 0; d < num_devices; ++d) {
      if (graph.Allowed(group, d)) allowed[static_cast<size_t>(item) * num_devices + d] = 1;
    }
  }
}

void UsedBins::Place(const GroupGraph& graph, std::span<const uint8_t> devices, std::span<uint8_t> groups) const {
  for (size_t group = 0; group < item_of_group.size(); ++group) {
    const uint8_t device = devices[item_of_group[group]];
    const auto row = graph.AllowedRow(group);
    groups[group] = row[device] == 1 ? device : static_cast<uint8_t>(std::ranges::find(row, 1) - row.begin());
  }
}

}  // namespace emplace
