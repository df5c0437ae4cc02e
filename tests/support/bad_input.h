// Checks the errors that bad input leads to.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/error.h"

namespace emplace {

// Returns the message of the error that `action` throws, or "" when it throws none. Expects exit code 2 and a message
// of one line that begins with `place`, as for all bad input.
template <typename Action>
std::string BadInputOf(Action&& action, const std::string& place = "") {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_THAT(error.what(), testing::AllOf(testing::StartsWith(place), testing::Not(testing::HasSubstr("\n"))));
    return error.what();
  }
  return "";
}

}  // namespace emplace
