#include "common/strings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "common/rng.h"

namespace emplace {
namespace {

TEST(Strings, JoinAndSplit) {
  EXPECT_EQ(Join({"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(Join({}, ", "), "");
  EXPECT_EQ(Split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(Split("alone", ','), (std::vector<std::string>{"alone"}));
  EXPECT_EQ(StrCat("x", 3, '=', 1.5), "x3=1.5");
}

TEST(Strings, TheShortestDoubleReadsBackTheSame) {
  EXPECT_EQ(ShortestDouble(0.1), "0.1");
  EXPECT_EQ(ShortestDouble(12500), "12500");
  EXPECT_EQ(ShortestDouble(1e-9), "1e-09");
  Rng rng(1);
  for (int i = 0; i < 10000; ++i) {
    const uint64_t bits = rng.Next();
    double value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    if (value != value || value - value != 0) continue;  // Not finite.
    EXPECT_EQ(std::strtod(ShortestDouble(value).c_str(), nullptr), value);
  }
}

}  // namespace
}  // namespace emplace
