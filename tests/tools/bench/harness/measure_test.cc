#include "tools/bench/harness/measure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/rng.h"

namespace emplace::bench {
namespace {

TEST(RepeatPaired, TakesTurnsAndKeepsTheSidesApart) {
  std::string order;
  double a = 0;
  double b = 0;
  const PairedSeconds seconds = RepeatPaired(
      4,
      [&] {
        order += 'a';
        return 6 * ++a;
      },
      [&] {
        order += 'b';
        return 2 * ++b;
      });
  EXPECT_EQ(order,
            "ab"
            "ab"
            "ba"
            "ab"
            "ba");
  // The first of each does not count.
  EXPECT_EQ(seconds.slow, (std::vector<double>{12, 18, 24, 30}));
  EXPECT_EQ(seconds.fast, (std::vector<double>{4, 6, 8, 10}));
  EXPECT_EQ(seconds.Speedups(), (std::vector<double>{3, 3, 3, 3}));
}

}  // namespace
}  // namespace emplace::bench
