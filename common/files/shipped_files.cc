#include "common/files/shipped_files.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {

namespace fs = std::filesystem;

namespace {

// In an archive programs are one folder below what is shipped, in a build tree two, and Python's module three.
constexpr int kMostLevels = 3;

// Of the shared library that holds this code, else of the program. What lies around a program that uses the library is
// none of its business.
fs::path FolderOfCode() {
  Dl_info code = {};
  link_map* object = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&FolderOfCode), &code, reinterpret_cast<void**>(&object),
              RTLD_DL_LINKMAP) == 0) {
    return {};
  }
  const std::string library = object->l_name;  // Empty: it is the program.
  std::error_code unknown;
  return (library.empty() ? fs::read_symlink("/proc/self/exe", unknown) : fs::canonical(library, unknown))
      .parent_path();
}

}  // namespace

std::optional<fs::path> ShippedFolderIfAny(const std::string& name, const char* variable) {
  std::error_code unknown;
  if (const char* const given = std::getenv(variable); given != nullptr && *given != '\0') {
    if (fs::is_directory(given, unknown)) return given;
    throw BadInput(StrCat(variable, " is '", given, "', expected a folder"));
  }
  fs::path root = FolderOfCode();
  for (int level = 0; level <= kMostLevels && root.has_relative_path(); ++level, root = root.parent_path()) {
    for (const fs::path& folder : {root / name, root / "share" / "emplace" / name}) {
      if (fs::is_directory(folder, unknown)) return folder;
    }
  }
  return std::nullopt;
}

fs::path ShippedFolder(const std::string& name, const char* variable) {
  if (const std::optional<fs::path> folder = ShippedFolderIfAny(name, variable)) return *folder;
  throw BadInput(StrCat("there is no folder ", name, " beside ", FolderOfCode().string(),
                        ", expected one there, or its path in ", variable));
}

}  // namespace emplace
