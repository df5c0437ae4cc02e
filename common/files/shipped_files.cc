#include "common/files/shipped_files.h"

#include <cstdlib>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {

namespace fs = std::filesystem;

fs::path ShippedFolder(const std::string& name, const char* variable) {
  if (const char* const given = std::getenv(variable); given != nullptr && *given != '\0') return given;
  std::error_code unknown;
  const fs::path programs = fs::read_symlink("/proc/self/exe", unknown).parent_path();
  for (const fs::path& root : {programs.parent_path(), programs.parent_path().parent_path()}) {
    if (fs::is_directory(root / name, unknown)) return root / name;
  }
  throw BadInput(StrCat("there is no folder ", name, " beside ", programs.string(),
                        ", expected one there, or its path in ", variable));
}

}  // namespace emplace
