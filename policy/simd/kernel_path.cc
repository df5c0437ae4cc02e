#include "policy/simd/kernel_path.h"

#include <algorithm>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {

std::string ToString(KernelPath path) {
  switch (path) {
    case KernelPath::kPortable:
      return "portable";
    case KernelPath::kAvx2:
      return "avx2";
    case KernelPath::kAvx512:
      return "avx512";
  }
  CheckFailed(__FILE__, __LINE__, "kernel path is known", "");
}

std::vector<KernelPath> KernelPaths() {
  std::vector<KernelPath> paths = {KernelPath::kPortable};
#ifdef EMPLACE_KERNEL_X86
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    paths.push_back(KernelPath::kAvx2);
    // What -mavx512f -mavx512vl -mavx512dq may use; every processor since 2017 with the first has all three.
    if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
        __builtin_cpu_supports("avx512dq") != 0) {
      paths.push_back(KernelPath::kAvx512);
    }
  }
#endif
  return paths;
}

KernelPath BestKernelPath() { return KernelPaths().back(); }

void CheckRuns(KernelPath path) {
  if (std::ranges::count(KernelPaths(), path) == 0) {
    throw BadInput(StrCat("kernel path ", ToString(path), ": this processor does not run it"));
  }
}

}  // namespace emplace
