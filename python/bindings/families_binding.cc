// emplace.families and what emplace.generate is made of
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/bindings/bindings.h"
#include "python/bindings/interruptible.h"
#include "simulator/families/family.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace emplace::python {

void BindFamilies(nb::module_& module) {
  module.def("families", &FamilyNames, "Names of the families and single networks that `generate` knows.");
  module.def(
      "generate",
      [](const std::string& family, int64_t count, uint64_t seed, const std::string& size, const std::string& dtype,
         int64_t microbatches, const std::vector<std::string>& ranges, const std::filesystem::path& kinds) {
        const FamilyOptions options = {.family = family,
                                       .count = count,
                                       .train = count,
                                       .seed = seed,
                                       .size = size,
                                       .dtype = dtype,
                                       .microbatches = microbatches,
                                       .ranges = ranges};
        return RunOrLeave([options, kinds] { return GenerateFamily(options, LoadDeviceKinds(kinds)).graphs; });
      },
      "family"_a, "count"_a, "seed"_a, "size"_a, "dtype"_a, "microbatches"_a, "ranges"_a, "kinds"_a);
}

}  // namespace emplace::python
