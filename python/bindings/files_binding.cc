// Writing files as the C++ programs do.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "common/files/file_io.h"
#include "common/files/output_files.h"
#include "python/bindings/bindings.h"
#include "python/bindings/interpreter_lock.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace emplace::python {
namespace {

using NamedFiles = std::vector<std::pair<std::string, std::filesystem::path>>;  // (argument, path) each

std::vector<FileArgument> ToArguments(const NamedFiles& files) {
  std::vector<FileArgument> arguments;
  for (const auto& [argument, path] : files) arguments.push_back({argument, path});
  return arguments;
}

}  // namespace

void BindFiles(nb::module_& module) {
  module.def(
      "write_file",
      [](const std::filesystem::path& path, const nb::bytes& bytes) {
        const std::string_view view(bytes.c_str(), bytes.size());
        const WithoutLock released;
        WriteFileAtomically(path, view);
      },
      "path"_a, "bytes"_a, "Writes a whole file or none: aside first, then renamed. Raises RunFailed where it cannot.");
  module.def(
      "check_output_files",
      [](const NamedFiles& outputs, const NamedFiles& inputs) {
        CheckOutputFiles(ToArguments(outputs), ToArguments(inputs));
      },
      "outputs"_a, "inputs"_a,
      "Takes (argument, path) pairs. Raises BadInput if an output is an input, another output or a folder, or if its "
      "folder does not exist; empty paths are none.");
}

}  // namespace emplace::python
