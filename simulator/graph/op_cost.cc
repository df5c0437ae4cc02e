#include "simulator/graph/op_cost.h"

#include <algorithm>

namespace emplace {

OpCost OpCost::ByKind(const std::map<std::string, double>& us) {
  const std::vector<KindCost> costs(us.begin(), us.end());
  KindNames kinds;
  return ByKind(costs, kinds);
}

OpCost OpCost::ByKind(std::span<const KindCost> us, KindNames& last) {
  if (last == nullptr || !std::ranges::equal(us, *last, {}, &KindCost::first)) {
    std::vector<std::string> names;
    for (const auto& [kind, kind_us] : us) names.emplace_back(kind);
    last = std::make_shared<const std::vector<std::string>>(std::move(names));
  }
  std::vector<double> us_by_kind;
  us_by_kind.reserve(us.size());
  for (const auto& [kind, kind_us] : us) us_by_kind.push_back(kind_us);
  return OpCost(last, std::move(us_by_kind), 0);
}

std::optional<double> OpCost::On(const std::string& kind) const {
  if (is_uniform()) return everywhere_us_;
  const auto found = std::ranges::lower_bound(*kinds_, kind);
  if (found == kinds_->end() || *found != kind) return std::nullopt;
  return us_by_kind_[static_cast<size_t>(found - kinds_->begin())];
}

std::map<std::string, double> OpCost::by_kind() const {
  std::map<std::string, double> us;
  for (size_t kind = 0; kind < us_by_kind_.size(); ++kind)
    us.emplace_hint(us.end(), (*kinds_)[kind], us_by_kind_[kind]);
  return us;
}

}  // namespace emplace
