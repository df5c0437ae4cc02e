#include "simulator/families/workloads/ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "common/error.h"
#include "simulator/families/family.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

using ::testing::HasSubstr;

Ranges Example() { return Ranges({{"steps", {10, 60}}, {"hidden", {512, 1024, 64}}}); }

std::string RangesError(const std::string& text) {
  return BadInputOf([&] { Example().Override(text); });
}

TEST(Ranges, EveryMultipleComesUpAndNothingElse) {
  const Ranges ranges = Example();
  Rng rng(1);
  std::set<int64_t> drawn;
  for (int i = 0; i < 500; ++i) drawn.insert(ranges.Draw("hidden", rng));
  EXPECT_EQ(drawn, (std::set<int64_t>{512, 576, 640, 704, 768, 832, 896, 960, 1024}));
}

TEST(Ranges, AnOverrideNarrowsToItsMultiples) {
  Ranges ranges = Example();
  ranges.Override("hidden=600..700");
  ranges.Override("steps=7");
  Rng rng(2);
  EXPECT_EQ(ranges.Draw("hidden", rng), 640);
  EXPECT_EQ(ranges.Draw("steps", rng), 7);
}

TEST(Ranges, ErrorsNameWhatIsWrong) {
  EXPECT_THAT(RangesError("steps=60..10"), HasSubstr("'steps=60..10': low is above high"));
  EXPECT_THAT(RangesError("step=1..2"), HasSubstr("unknown name 'step', expected one of: hidden, steps"));
  EXPECT_THAT(RangesError("steps"), HasSubstr("expected name=low..high"));
  EXPECT_THAT(RangesError("steps=0..5"), HasSubstr("'0' is not a whole number in 1.."));
  EXPECT_THAT(RangesError("steps=1..x"), HasSubstr("'x' is not a whole number"));
  EXPECT_THAT(RangesError("steps=..4"), HasSubstr("'' is not a whole number"));
  EXPECT_THAT(RangesError("steps=1.5"), HasSubstr("'1.5' is not a whole number"));
  EXPECT_THAT(RangesError("hidden=600..610"), HasSubstr("holds no multiple of 64"));
}

TEST(Ranges, ASingleNetworkHasNone) {
  FamilyOptions options{.family = "nasnet", .count = 1, .train = 1};
  EXPECT_TRUE(RangesOf(options).ranges().empty());
  options.ranges = {"batch=3"};
  EXPECT_THROW(RangesOf(options), Error);
}

}  // namespace
}  // namespace emplace
