#include "api/run_files.h"

#include <system_error>

namespace emplace {
namespace {

namespace fs = std::filesystem;

// learner/storage/run_directory.h says what they are. The learner and its report write them.
constexpr const char* kRunFiles[] = {"config.yaml",   "learner.json",     "ledger.json",        "lock",
                                     "metrics.jsonl", "placements.jsonl", "policy.safetensors", "ranks.keys",
                                     "summary.json"};
constexpr const char* kRunFolders[] = {"checkpoints", "graphs", "logs", "placements", "tensorboard"};

}  // namespace

std::vector<FileArgument> InputFiles(const std::string& argument, const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {{argument, path}};
  std::vector<FileArgument> files;
  for (const char* const name : kRunFiles) files.push_back({argument, path / name});
  for (const char* const folder : kRunFolders) {
    // A run that goes on removes checkpoints meanwhile: what is gone cannot be written over.
    for (fs::recursive_directory_iterator entry(path / folder, error), end; !error && entry != end;
         entry.increment(error)) {
      std::error_code gone;
      if (!entry->is_directory(gone)) files.push_back({argument, entry->path()});
    }
  }
  return files;
}

}  // namespace emplace
