// Writing files as the C++ programs do.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>

#include "common/file_io.h"
#include "python/bindings/bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace emplace::python {

void BindFiles(nb::module_& module) {
  module.def(
      "write_file",
      [](const std::filesystem::path& path, const nb::bytes& bytes) {
        const std::string_view view(bytes.c_str(), bytes.size());
        nb::gil_scoped_release released;
        WriteFileAtomically(path, view);
      },
      "path"_a, "bytes"_a, "Writes a whole file or none: aside first, then renamed. Raises RunFailed where it cannot.");
}

}  // namespace emplace::python
