#include "common/files/output_files.h"

#include <sys/stat.h>

#include <map>
#include <system_error>
#include <utility>
#include <variant>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/strings.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

// Without ., .. and symbolic links, as far as the path exists. A path that cannot be followed stays as it is: whoever
// reads or writes it says why.
fs::path Resolved(const fs::path& path) {
  std::error_code error;
  // Absolute first: of a relative path of which nothing exists, weakly_canonical makes no absolute one.
  const fs::path absolute = fs::absolute(path, error);
  if (error) return path;
  const fs::path resolved = fs::weakly_canonical(absolute, error);
  return error ? absolute.lexically_normal() : resolved;
}

// What a file is under whatever name: its inode, which hard links share, or where there is no file yet the resolved
// path.
using Inode = std::pair<dev_t, ino_t>;
using Identity = std::variant<Inode, fs::path>;

Identity IdentityOf(const fs::path& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) == 0) return Inode{found.st_dev, found.st_ino};
  return Resolved(BehindLinks(path));
}

}  // namespace

void CheckFilesDiffer(const std::vector<FileArgument>& outputs, const std::vector<FileArgument>& inputs) {
  // By identity, since a command may have thousands of files.
  std::map<Identity, std::string> argument_of;
  for (const FileArgument& input : inputs) {
    if (!input.path.empty()) argument_of.emplace(IdentityOf(input.path), input.argument);
  }
  for (const FileArgument& output : outputs) {
    if (output.path.empty() || IsDeviceOrPipe(output.path)) continue;
    const auto [other, is_new] = argument_of.emplace(IdentityOf(output.path), output.argument);
    if (is_new) continue;
    throw BadInput(StrCat(output.argument, " is '", output.path.string(), "', which belongs to ", other->second,
                          ", expected another file"));
  }
}

void CheckOutputFiles(const std::vector<FileArgument>& outputs, const std::vector<FileArgument>& inputs) {
  CheckFilesDiffer(outputs, inputs);
  for (const auto& [argument, path] : outputs) {
    const fs::path folder = BehindLinks(path).parent_path();
    std::error_code ignored;  // Whatever it is, there is no such folder.
    if (!folder.empty() && !fs::is_directory(folder, ignored)) {
      throw BadInput(StrCat(argument, " is '", path.string(), "': there is no folder '", folder.string(),
                            "', expected an existing one"));
    }
    if (!path.empty() && fs::is_directory(path, ignored))
      throw BadInput(StrCat(argument, " is '", path.string(), "', which is a folder, expected a file to write"));
  }
}

}  // namespace emplace
