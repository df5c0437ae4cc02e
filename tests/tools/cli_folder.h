// A folder to run the `emplace` command in, as a user would.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace emplace {

struct Outcome {
  int exit_code = 0;
  std::string out;
  std::string err;
};

class CliFolder : public testing::Test {
 protected:
  CliFolder();
  ~CliFolder() override;

  void Write(const std::string& name, const std::string& text) const;
  // Runs `emplace ARGUMENTS` in the folder.
  Outcome Emplace(const std::string& arguments) const;
  // Bad input: exit code 2, nothing on stdout, one line on stderr that holds `expected`.
  void ExpectRefused(const std::string& arguments, const std::string& expected) const;

  std::filesystem::path folder_;
};

}  // namespace emplace
