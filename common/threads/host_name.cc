#include "common/threads/host_name.h"

#include <unistd.h>

#include <array>

namespace emplace {

std::string HostName() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "an unknown host";
  return name.data();
}

}  // namespace emplace
