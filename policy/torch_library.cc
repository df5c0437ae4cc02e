#include "policy/torch_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "common/error.h"
#include "common/strings.h"
#include "policy/torch/torch_entry.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

constexpr char kFileName[] = "libemplace_torch.so";

fs::path FindLibrary(const std::string& kind) {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& candidate : {folder / kFileName, folder / "../lib" / kFileName}) {
    if (fs::exists(candidate)) return candidate;
  }
  throw RunFailed(StrCat("a policy of kind ", kind, " is computed with LibTorch, but there is no ", kFileName, " in ",
                         folder.string(), " or in lib beside it, expected the one that the build makes"));
}

const TorchEntry& Open(const std::string& kind) {
  const fs::path path = FindLibrary(kind);
  // RTLD_LOCAL: what the library has of our own code stays its own.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw RunFailed(StrCat(path.string(), ": cannot be opened: ", dlerror()));
  const auto function = reinterpret_cast<TorchEntryFunction>(dlsym(library, kTorchEntryName));
  if (function == nullptr) throw RunFailed(StrCat(path.string(), ": has no ", kTorchEntryName, ": not of Emplace"));
  const TorchEntry& entry = *function();
  if (std::string(entry.version) != EMPLACE_VERSION) {
    throw RunFailed(
        StrCat(path.string(), ": is of version ", entry.version, ", expected ", EMPLACE_VERSION, " as this program"));
  }
  return entry;
}

// A failure is tried again by the next call.
const TorchEntry& Entry(const std::string& kind) {
  static const TorchEntry& entry = Open(kind);
  return entry;
}

}  // namespace

std::unique_ptr<Player> MakeTorchPlayer(const PolicyShape& shape) { return Entry(shape.kind).make_player(shape); }

std::unique_ptr<Model> MakeTorchModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks) {
  return Entry(shape.kind).make_model(shape, tasks);
}

std::string WhyNoTorchGpu(const PolicyShape& shape) { return Entry(shape.kind).why_no_gpu(); }

std::unique_ptr<Model> MakeTorchGpuModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks,
                                         int32_t gpu) {
  return Entry(shape.kind).make_gpu_model(shape, tasks, gpu);
}

}  // namespace emplace
