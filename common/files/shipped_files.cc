#include "common/files/shipped_files.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {

namespace fs = std::filesystem;

namespace {

// In an archive programs are one folder below what is shipped, in a build tree two, and Python's module three.
constexpr int kMostLevels = 3;

fs::path FolderOfProgram() {
  std::error_code unknown;
  return fs::read_symlink("/proc/self/exe", unknown).parent_path();
}

// The folder of the program or of the shared library that holds this code.
fs::path FolderOfCode() {
  Dl_info code = {};
  if (dladdr(reinterpret_cast<const void*>(&FolderOfProgram), &code) == 0 || code.dli_fname == nullptr) return {};
  std::error_code unknown;
  return fs::canonical(code.dli_fname, unknown).parent_path();
}

}  // namespace

std::optional<fs::path> ShippedFolderIfAny(const std::string& name, const char* variable) {
  std::error_code unknown;
  if (const char* const given = std::getenv(variable); given != nullptr && *given != '\0') {
    if (fs::is_directory(given, unknown)) return given;
    throw BadInput(StrCat(variable, " is '", given, "', expected a folder"));
  }
  for (fs::path root : {FolderOfProgram(), FolderOfCode()}) {
    for (int level = 0; level <= kMostLevels && root.has_relative_path(); ++level, root = root.parent_path()) {
      if (fs::is_directory(root / name, unknown)) return root / name;
    }
  }
  return std::nullopt;
}

fs::path ShippedFolder(const std::string& name, const char* variable) {
  if (const std::optional<fs::path> folder = ShippedFolderIfAny(name, variable)) return *folder;
  throw BadInput(StrCat("there is no folder ", name, " beside ", FolderOfProgram().string(),
                        ", expected one there, or its path in ", variable));
}

}  // namespace emplace
