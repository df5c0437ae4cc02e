// The keys of a kind of policy that are also sizes of its network (ConfigField::size): how they come from the struct of
// the kind's keys into a PolicyShape and back, and what policy.safetensors may say of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/config/field_table.h"
#include "policy/policy_kind.h"

namespace emplace {

// The sizes among the fields, in their order. A file may say what a configuration may.
std::vector<SizeField> SizesOf(const std::vector<ConfigField>& fields);
// The sizes that the struct `keys` has, by their name in a file.
std::map<std::string, int64_t> SizesIn(const std::vector<ConfigField>& fields, const void* keys);
// Sets the sizes in the struct `keys`. REQUIRES: all are there, each within its range.
void SetSizes(const std::vector<ConfigField>& fields, const std::map<std::string, int64_t>& sizes, void* keys);

// The first key by which a policy is another than the expected one: "policy.hidden is 32, expected 64"; or what is said
// of its kind or the machine. Empty: there is none. kind: that of `shape`.
std::string FirstDifference(const PolicyKind& kind, const PolicyShape& shape, const PolicyShape& expected);

}  // namespace emplace
