// A temporary folder in which tests run the `emplace` command as a user does.
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
  // The same, with a SIGTERM after a second.
  Outcome EmplaceInterrupted(const std::string& arguments) const;
  // Expects exit code 2, nothing on stdout, and one line on stderr that contains `expected`.
  void ExpectRefused(const std::string& arguments, const std::string& expected) const;

  std::filesystem::path folder_;

 private:
  Outcome Run(const std::string& before, const std::string& arguments) const;
};

}  // namespace emplace
