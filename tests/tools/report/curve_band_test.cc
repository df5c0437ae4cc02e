#include "tools/report/curve_band.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace emplace {
namespace {

using ::testing::ElementsAre;

TEST(CurveBand, CoversWhatAllCurvesCover) {
  // The second curve is a line from (1, 3) to (3, 7); at 2 it is at 5.
  const CurveBand band = BandOf({{{0, 2, 4}, {1, 1, 1}}, {{1, 3}, {3, 7}}}, 10);
  EXPECT_THAT(band.x, ElementsAre(1, 2, 3));
  EXPECT_THAT(band.mean, ElementsAre(2, 3, 4));
  EXPECT_THAT(band.low, ElementsAre(1, 1, 1));
  EXPECT_THAT(band.high, ElementsAre(3, 5, 7));
}

TEST(CurveBand, PassesOverMissingPoints) {
  const CurveBand band = BandOf({{{0, 1, 2}, {0, std::nan(""), 4}}, {{0, 1, 2}, {2, 2, 2}}}, 10);
  EXPECT_THAT(band.mean, ElementsAre(1, 2, 3));  // The first curve is at 2 where its point is missing.
}

TEST(CurveBand, IsEmptyWithoutCommonGround) {
  EXPECT_TRUE(BandOf({{{0, 1}, {1, 1}}, {{2, 3}, {1, 1}}}, 10).x.empty());
  EXPECT_TRUE(BandOf({{{0, 1}, {1, 1}}, {{}, {}}}, 10).x.empty());
}

TEST(CurveBand, KeepsBothEndsWhenItThins) {
  Curve line;
  for (int i = 0; i <= 100; ++i) {
    line.x.push_back(i);
    line.y.push_back(2 * i);
  }
  const CurveBand band = BandOf({line, line}, 5);
  EXPECT_THAT(band.x, ElementsAre(0, 25, 50, 75, 100));
  EXPECT_THAT(band.mean, ElementsAre(0, 50, 100, 150, 200));
}

}  // namespace
}  // namespace emplace
