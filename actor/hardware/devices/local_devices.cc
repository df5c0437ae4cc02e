#include "actor/hardware/devices/local_devices.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>

#include "common/error.h"
#include "common/parse_number.h"
#include "common/strings.h"

namespace emplace {
namespace {

// The i of a name that is this prefix and a number, such as "cpu:0"; nullopt: it is another name.
std::optional<int32_t> NumberAfter(const std::string& prefix, const std::string& name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const std::optional<uint32_t> number = ParseNumber<uint32_t>(std::string_view(name).substr(prefix.size()));
  if (!number || *number > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(*number);
}

void CheckGpu(const std::string& place, int32_t gpu, const LocalGpus& gpus) {
  if (!gpus.why_none.empty()) throw BadInput(StrCat(place, ": GPUs cannot be run here: ", gpus.why_none));
  if (gpu < gpus.count) return;
  const std::string expected = gpus.count == 0 ? "a name such as cpu:0" : StrCat("cuda:i with i below ", gpus.count);
  throw BadInput(
      StrCat(place, ": this computer has ", gpus.count, gpus.count == 1 ? " GPU" : " GPUs", ", expected ", expected));
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

std::vector<LocalDevice> FindLocalDevices(const Cluster& cluster, const std::vector<int32_t>& cores,
                                          const std::function<LocalGpus()>& find_gpus) {
  std::vector<LocalDevice> found;
  std::map<int32_t, std::string> owners;      // Of cores, the name of the device.
  std::map<int32_t, std::string> gpu_owners;  // Likewise of GPUs.
  std::optional<LocalGpus> gpus;
  const Device* first_cpu = nullptr;
  for (const Device& device : cluster.devices) {
    const std::string place = StrCat("device '", device.name, "'");
    const std::optional<int32_t> gpu = NumberAfter("cuda:", device.name);
    if (!gpu && !NumberAfter("cpu:", device.name)) {
      throw BadInput(StrCat(place, ": no device of this computer, expected a name such as cpu:0 or cuda:0"));
    }
    for (const int32_t core : device.cores) {
      if (!std::binary_search(cores.begin(), cores.end(), core)) {
        throw BadInput(StrCat(place, ": core ", core, " is not there, expected some of ", Shown(cores)));
      }
      const auto [owner, is_new] = owners.emplace(core, device.name);
      if (!is_new) throw BadInput(StrCat(place, ": core ", core, " is also one of '", owner->second, "'"));
    }
    if (gpu) {
      if (!gpus) gpus = find_gpus();
      CheckGpu(place, *gpu, *gpus);
      const auto [owner, is_new] = gpu_owners.emplace(*gpu, device.name);
      if (!is_new) throw BadInput(StrCat(place, ": is the GPU of '", owner->second, "', expected one of its own"));
      found.push_back({.cores = device.cores, .gpu = *gpu});
      continue;
    }
    if (first_cpu == nullptr) first_cpu = &device;
    // The number of threads is one of the whole process in some of LibTorch's libraries.
    if (device.cores.size() != first_cpu->cores.size()) {
      throw BadInput(StrCat(place, ": has ", device.cores.size(), " cores and '", first_cpu->name, "' has ",
                            first_cpu->cores.size(), ", expected equal numbers"));
    }
    found.push_back({.cores = device.cores});
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
