#include "simulator/graph/device_costs.h"

#include <algorithm>
#include <cmath>

namespace emplace {

DeviceCosts::DeviceCosts(const Cluster& cluster) {
  for (const Device& device : cluster.devices) {
    const auto known = std::ranges::find(kinds_, device.kind);
    kind_of_device_.push_back(static_cast<size_t>(known - kinds_.begin()));
    if (known == kinds_.end()) kinds_.push_back(device.kind);
  }
  us_of_kind_.resize(kinds_.size());
  us_.resize(kind_of_device_.size());
}

std::span<const double> DeviceCosts::Of(const Op& op) {
  for (size_t kind = 0; kind < kinds_.size(); ++kind)
    us_of_kind_[kind] = op.AllowedOn(kinds_[kind]) ? *op.cost.On(kinds_[kind]) : std::nan("");
  for (size_t device = 0; device < us_.size(); ++device) us_[device] = us_of_kind_[kind_of_device_[device]];
  return us_;
}

}  // namespace emplace
