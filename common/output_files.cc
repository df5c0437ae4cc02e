#include "common/output_files.h"

#include <span>
#include <system_error>

#include "common/error.h"
#include "common/file_io.h"
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

bool IsSameFile(const fs::path& a, const fs::path& b) {
  std::error_code error;  // Where one of them does not exist.
  return fs::equivalent(a, b, error) || Resolved(a) == Resolved(b);
}

void CheckIsNoneOf(const FileArgument& output, std::span<const FileArgument> others) {
  for (const FileArgument& other : others) {
    if (other.path.empty() || !IsSameFile(output.path, other.path)) continue;
    throw BadInput(StrCat(output.argument, " is '", output.path.string(), "', which belongs to ", other.argument,
                          ", expected another file"));
  }
}

}  // namespace

void CheckOutputFiles(const std::vector<FileArgument>& outputs, const std::vector<FileArgument>& inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].path.empty() || IsDeviceOrPipe(outputs[i].path)) continue;
    CheckIsNoneOf(outputs[i], inputs);
    CheckIsNoneOf(outputs[i], std::span(outputs).first(i));
  }
}

}  // namespace emplace
