#include "tests/tools/cli_folder.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/strings.h"

namespace emplace {

namespace fs = std::filesystem;

CliFolder::CliFolder() {
  std::string pattern = (fs::temp_directory_path() / "emplace_cli_XXXXXX").string();
  EMPLACE_CHECK(::mkdtemp(pattern.data()) != nullptr);
  folder_ = pattern;
}

CliFolder::~CliFolder() { fs::remove_all(folder_); }

void CliFolder::Write(const std::string& name, const std::string& text) const {
  WriteFileAtomically(folder_ / name, text);
}

Outcome CliFolder::Emplace(const std::string& arguments) const { return Run("", arguments); }

Outcome CliFolder::EmplaceInterrupted(const std::string& arguments) const {
  return Run("timeout --signal=TERM --preserve-status 1 ", arguments);
}

Outcome CliFolder::Run(const std::string& before, const std::string& arguments) const {
  const std::string command = StrCat("cd '", folder_.string(), "' && ", before, "'", EMPLACE_BINARY, "' ", arguments,
                                     " >out.txt 2>err.txt </dev/null");
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadFile(folder_ / "out.txt"), ReadFile(folder_ / "err.txt")};
}

void CliFolder::ExpectRefused(const std::string& arguments, const std::string& expected) const {
  const Outcome outcome = Emplace(arguments);
  EXPECT_EQ(outcome.exit_code, 2) << arguments;
  EXPECT_EQ(outcome.out, "") << arguments;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << arguments << "\n" << outcome.err;
  EXPECT_NE(outcome.err.find(expected), std::string::npos) << arguments << "\n" << outcome.err;
}

}  // namespace emplace
