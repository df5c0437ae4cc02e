// A fuzz target without libFuzzer: runs it on every file of the folders given, so that what fuzzing once found stays
// mended in every build, with every compiler.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "common/files/file_io.h"
#include "tests/fuzz/fuzz_target.h"

int main(int argc, char** argv) {
  return emplace::RunMain("replay", [&] {
    size_t count = 0;
    for (int i = 1; i < argc; ++i) {
      std::vector<std::filesystem::path> files;
      for (const auto& entry : std::filesystem::directory_iterator(argv[i])) files.push_back(entry.path());
      std::sort(files.begin(), files.end());
      for (const std::filesystem::path& file : files) {
        std::printf("%s\n", file.c_str());
        std::fflush(stdout);  // A crash leaves the name of what caused it.
        const std::string bytes = emplace::ReadFile(file);
        LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
        ++count;
      }
    }
    EMPLACE_CHECK(count > 0);
    return 0;
  });
}
