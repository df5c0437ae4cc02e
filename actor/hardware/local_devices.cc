#include "actor/hardware/local_devices.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

// Whether the name is this prefix and a number: "cpu:0".
bool IsNumbered(const std::string& name, const std::string& prefix) {
  if (!name.starts_with(prefix)) return false;
  uint32_t number = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + prefix.size(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

std::string Shown(const std::vector<int32_t>& numbers) {
  std::vector<std::string> texts;
  for (const int32_t number : numbers) texts.push_back(std::to_string(number));
  return Join(texts, ", ");
}

}  // namespace

std::vector<int32_t> AvailableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    throw RunFailed(StrCat("sched_getaffinity: ", std::strerror(errno)));
  std::vector<int32_t> cores;
  for (int32_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

std::vector<LocalDevice> FindLocalDevices(const Cluster& cluster, const std::vector<int32_t>& cores) {
  std::vector<LocalDevice> found;
  std::map<int32_t, std::string> owners;  // Of cores, the name of the device.
  const Device* first_cpu = nullptr;
  for (const Device& device : cluster.devices) {
    const std::string place = StrCat("device '", device.name, "'");
    if (!IsNumbered(device.name, "cpu:")) {
      const bool is_gpu = IsNumbered(device.name, "cuda:");
      throw BadInput(StrCat(place, is_gpu ? ": GPUs cannot be run yet" : ": no device of this computer",
                            ", expected a name such as cpu:0"));
    }
    for (const int32_t core : device.cores) {
      if (!std::binary_search(cores.begin(), cores.end(), core)) {
        throw BadInput(StrCat(place, ": core ", core, " is not there, expected some of ", Shown(cores)));
      }
      const auto [owner, is_new] = owners.emplace(core, device.name);
      if (!is_new) throw BadInput(StrCat(place, ": core ", core, " is also one of '", owner->second, "'"));
    }
    if (first_cpu == nullptr) first_cpu = &device;
    // The number of threads is one of the whole process in some of LibTorch's libraries.
    if (device.cores.size() != first_cpu->cores.size()) {
      throw BadInput(StrCat(place, ": has ", device.cores.size(), " cores and '", first_cpu->name, "' has ",
                            first_cpu->cores.size(), ", expected equal numbers"));
    }
    found.push_back({device.cores});
  }
  return found;
}

void BindThreadToCores(const std::vector<int32_t>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int32_t core : cores) CPU_SET(static_cast<size_t>(core), &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    throw RunFailed(StrCat("binding a thread to cores ", Shown(cores), ": ", std::strerror(errno)));
  }
}

}  // namespace emplace
