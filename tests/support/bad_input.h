// What bad input is answered with.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/error.h"

namespace emplace {

// The message of the error that `action` throws, "" when it throws none. Expects what holds for every answer to bad
// input: exit code 2, and one line that begins with `place`.
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
