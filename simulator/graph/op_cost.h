// What an op costs on each kind of device.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {

// What an op costs on a device that may not run it, where each device has a number: not a number.
inline constexpr double kMayNotRunUs = std::numeric_limits<double>::quiet_NaN();
inline bool MayRunAt(double cost_us) { return !std::isnan(cost_us); }

// Names of device kinds, ascending, each once. The ops of a graph mostly have costs on the same kinds: they share one
// list, which takes memory once and by whose address DeviceCosts knows it again.
using KindNames = std::shared_ptr<const std::vector<std::string>>;

using KindCost = std::pair<std::string_view, double>;  // A kind's name, us.

// The cost of an op in microseconds: one number for all devices, or one for each of some kinds. A kind that is not
// among them cannot run the op.
class OpCost {
 public:
  static OpCost Everywhere(double us) { return OpCost(nullptr, {}, us); }
  static OpCost ByKind(const std::map<std::string, double>& us);
  // The same of kinds in ascending order. Shares the names of `last` where they are the same, and else sets it to those
  // of this cost: for the costs of many ops, one after the other. `last` may be null.
  static OpCost ByKind(std::span<const KindCost> us, KindNames& last);

  bool is_uniform() const { return kinds_ == nullptr; }
  // REQUIRES: the cost is uniform.
  double everywhere_us() const { return everywhere_us_; }
  // Nothing where the kind cannot run the op.
  std::optional<double> On(const std::string& kind) const;
  // Empty where the cost is uniform.
  std::span<const std::string> kinds() const {
    return is_uniform() ? std::span<const std::string>() : std::span<const std::string>(*kinds_);
  }
  // The same list; null where the cost is uniform.
  const KindNames& shared_kinds() const { return kinds_; }
  // [kinds]
  const std::vector<double>& us_by_kind() const { return us_by_kind_; }
  // A copy of both; empty where the cost is uniform.
  std::map<std::string, double> by_kind() const;

 private:
  OpCost(KindNames kinds, std::vector<double> us_by_kind, double everywhere_us)
      : kinds_(std::move(kinds)), us_by_kind_(std::move(us_by_kind)), everywhere_us_(everywhere_us) {}

  KindNames kinds_;
  std::vector<double> us_by_kind_;  // [kinds]
  double everywhere_us_ = 0;        // Where the cost is uniform.
};

}  // namespace emplace
