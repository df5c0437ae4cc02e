// What fixes the sizes of a policy's network: its kind, the devices it decides between, and the kind's own numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace emplace {

// The kind of a configuration that names none, and of files from before there were kinds.
inline constexpr char kDefaultPolicyKind[] = "placeto";

struct PolicyShape {
  std::string kind = kDefaultPolicyKind;  // A name of policy/policy_kinds.h.
  int32_t num_devices = 0;                // 0: it places on any number of devices.
  std::map<std::string, int64_t> sizes;   // Those of PolicyKind::Sizes, by name: "message_rounds" -> 8.

  bool FitsDevices(int32_t devices) const { return num_devices == 0 || num_devices == devices; }
  bool operator==(const PolicyShape&) const = default;
};

}  // namespace emplace
