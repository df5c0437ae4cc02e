#include "common/files/shipped_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/support/bad_input.h"

namespace emplace {
namespace {

constexpr const char* kVariable = "EMPLACE_TEST_SHIPPED_FOLDER";

class ShippedFiles : public testing::Test {
 protected:
  ~ShippedFiles() override { unsetenv(kVariable); }
};

TEST_F(ShippedFiles, AreWhereTheVariableSays) {
  setenv(kVariable, testing::TempDir().c_str(), /*overwrite=*/1);
  EXPECT_EQ(ShippedFolder("no such folder", kVariable), testing::TempDir());
}

TEST_F(ShippedFiles, AVariableThatNamesNoFolderIsAnError) {
  setenv(kVariable, "/nonexistent/models", /*overwrite=*/1);
  EXPECT_EQ(BadInputOf([] { (void)ShippedFolderIfAny("configs", kVariable); }, ""),
            "EMPLACE_TEST_SHIPPED_FOLDER is '/nonexistent/models', expected a folder");
}

TEST_F(ShippedFiles, AreFoundAboveTheProgramElse) {
  EXPECT_TRUE(ShippedFolderIfAny("configs", kVariable).has_value());
  EXPECT_FALSE(ShippedFolderIfAny("no such folder", kVariable).has_value());
  EXPECT_THAT(BadInputOf([] { (void)ShippedFolder("no such folder", kVariable); }, ""),
              testing::HasSubstr(std::string("or its path in ") + kVariable));
}

}  // namespace
}  // namespace emplace
