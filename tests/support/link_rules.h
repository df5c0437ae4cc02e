// Every way in which tensors may travel, for tests that hold in all of them.
#pragma once

#include <array>
#include <ostream>
#include <string>

#include "simulator/machine/cluster.h"

namespace emplace {

struct LinkRules {
  LinkModel model;
  bool blocking = false;
};
inline constexpr std::array kEveryLinkRules = {
    LinkRules{LinkModel::kShared}, LinkRules{LinkModel::kPerDestination}, LinkRules{LinkModel::kTopology},
    LinkRules{LinkModel::kPerDestination, true}, LinkRules{LinkModel::kTopology, true}};

// "topology" or "topology_blocking"
inline std::string LinkRulesName(const LinkRules& rules) {
  return LinkModelName(rules.model) + (rules.blocking ? "_blocking" : "");
}
inline void PrintTo(const LinkRules& rules, std::ostream* out) { *out << LinkRulesName(rules); }

}  // namespace emplace
