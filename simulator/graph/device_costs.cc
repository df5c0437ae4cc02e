#include "simulator/graph/device_costs.h"

#include <algorithm>

namespace emplace {

DeviceCosts::DeviceCosts(const Cluster& cluster) {
  for (const Device& device : cluster.devices) {
    const auto known = std::ranges::find(kinds_, device.kind);
    kind_of_device_.push_back(static_cast<size_t>(known - kinds_.begin()));
    if (known == kinds_.end()) kinds_.push_back(device.kind);
  }
  place_of_kind_.resize(kinds_.size());
  us_of_kind_.resize(kinds_.size());
  us_.resize(kind_of_device_.size());
}

void DeviceCosts::Find(const KindNames& names) {
  found_in_ = names;
  for (size_t kind = 0; kind < kinds_.size(); ++kind) {
    const auto place = std::ranges::lower_bound(*names, kinds_[kind]);
    const bool found = place != names->end() && *place == kinds_[kind];
    place_of_kind_[kind] = found ? static_cast<size_t>(place - names->begin()) : kNone;
  }
}

std::span<const double> DeviceCosts::Of(const Op& op) {
  const OpCost& cost = op.cost;
  if (!cost.is_uniform() && cost.shared_kinds() != found_in_) Find(cost.shared_kinds());
  const auto us_on = [&](size_t kind) {
    if (cost.is_uniform()) return cost.everywhere_us();
    return place_of_kind_[kind] == kNone ? kMayNotRunUs : cost.us_by_kind()[place_of_kind_[kind]];
  };
  for (size_t kind = 0; kind < kinds_.size(); ++kind)
    us_of_kind_[kind] = op.AllowsKind(kinds_[kind]) ? us_on(kind) : kMayNotRunUs;
  for (size_t device = 0; device < us_.size(); ++device) us_[device] = us_of_kind_[kind_of_device_[device]];
  return us_;
}

}  // namespace emplace
