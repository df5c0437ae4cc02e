#include "learner/evaluation/plateau.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/rng.h"

namespace emplace {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Plateau, IsWhereEvaluationsStopGettingBetter) {
  Plateau plateau({.patience = 3, .min_gain = 0.02, .first_update = 0}, {});
  int64_t updates = 0;
  for (const double ratio : {1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7}) {
    plateau.Add(updates += 50, ratio);
    EXPECT_FALSE(plateau.reason()) << updates;
  }
  // From here on nothing is gained; the windows notice once both lie on the level stretch.
  while (!plateau.reason() && updates < 1000) {
    updates += 50;
    plateau.Add(updates, updates % 100 == 0 ? 0.700 : 0.701);
  }
  ASSERT_TRUE(plateau.reason());
  EXPECT_LE(updates, 650);
  EXPECT_THAT(*plateau.reason(), HasSubstr("the last 3 evaluations on the validation graphs average 0.70"));
  EXPECT_THAT(*plateau.reason(), HasSubstr("certainly less than 2.00%"));
}

TEST(Plateau, WaitsWhileEvaluationsSwing) {
  Plateau plateau({.patience = 4, .min_gain = 0.01, .first_update = 0}, {});
  for (int i = 0; i < 100; ++i) plateau.Add(i, i % 2 == 0 ? 0.7 : 0.9);
  EXPECT_FALSE(plateau.reason());
}

TEST(Plateau, SaysInPercentWhatWasGained) {
  Plateau plateau({.patience = 2, .min_gain = 9, .first_update = 0}, {});
  int64_t updates = 0;
  for (const double ratio : {0.8, 0.6, 0.8, 0.6}) plateau.Add(++updates, ratio);
  // Both geometric means are sqrt(0.48); the variance of each log is log(4/3)^2 / 2, so that of each mean half of it,
  // and with two degrees of freedom the interval is 4.303 * log(4/3) / sqrt(2) = 0.8753 to either side: e^0.8753
  // = 2.3997.
  ASSERT_TRUE(plateau.reason());
  EXPECT_THAT(*plateau.reason(), HasSubstr("average 0.6928, the 2 before them 0.6928: better by 0.00% "));
  EXPECT_THAT(*plateau.reason(), HasSubstr("to 139.9"));
}

TEST(Plateau, IsThereAtOnceInARunThatIsResumedAtIt) {
  Plateau plateau({.patience = 2, .min_gain = 0.01, .first_update = 200}, {});
  for (int64_t updates = 50; updates <= 200; updates += 50) plateau.Add(updates, 1);
  ASSERT_TRUE(plateau.reason());
  const Plateau resumed({.patience = 2, .min_gain = 0.01, .first_update = 200},
                        {.history = plateau.history(), .updates = 200});
  EXPECT_EQ(resumed.reason(), plateau.reason());
  EXPECT_FALSE(
      Plateau({.patience = 2, .min_gain = 0.01, .first_update = 250}, {.history = plateau.history(), .updates = 200})
          .reason());
  EXPECT_FALSE(
      Plateau({.patience = 3, .min_gain = 0.01, .first_update = 0}, {.history = plateau.history(), .updates = 200})
          .reason());
  EXPECT_FALSE(
      Plateau({.patience = 0, .min_gain = 0.01, .first_update = 0}, {.history = plateau.history(), .updates = 200})
          .reason());
}

TEST(Plateau, DoesNotComeBeforeItsFirstUpdate) {
  Plateau plateau({.patience = 2, .min_gain = 0.01, .first_update = 500}, {});
  for (int64_t updates = 50; updates < 500; updates += 50) {
    plateau.Add(updates, 1);
    EXPECT_FALSE(plateau.reason());
  }
  plateau.Add(500, 1);
  EXPECT_TRUE(plateau.reason());
}

TEST(Plateau, GoesOnFromItsHistory) {
  Plateau whole({.patience = 4, .min_gain = 0.1, .first_update = 0}, {});
  Rng rng(1);
  for (int i = 0; i < 7; ++i) whole.Add(i, 0.7 + 0.01 * rng.Uniform());
  Plateau resumed({.patience = 4, .min_gain = 0.1, .first_update = 0}, {.history = whole.history(), .updates = 6});
  whole.Add(8, 0.705);
  resumed.Add(8, 0.705);
  ASSERT_TRUE(whole.reason());
  EXPECT_EQ(whole.reason(), resumed.reason());
}

// A run that was interrupted before its first update evaluates the policy that it begins with once more.
TEST(Plateau, CountsNoPolicyTwice) {
  Plateau plateau({.patience = 2}, {});
  plateau.Add(0, 0.9);
  plateau.Add(0, 0.9);
  EXPECT_THAT(plateau.history(), SizeIs(1));
  Plateau resumed({.patience = 2}, {.history = plateau.history(), .updates = 0});
  resumed.Add(0, 0.9);
  EXPECT_THAT(resumed.history(), SizeIs(1));
  resumed.Add(25, 0.8);
  EXPECT_THAT(resumed.history(), SizeIs(2));
}

TEST(Plateau, LeavesOutWhatIsNoRatioAndKeepsNoMoreThanItNeeds) {
  Plateau plateau({.patience = 2, .min_gain = 0.01, .first_update = 1000}, {});
  for (int i = 0; i < 10; ++i) {
    plateau.Add(i, std::nan(""));
    plateau.Add(i, 0);
    plateau.Add(i, std::numeric_limits<double>::infinity());
  }
  EXPECT_THAT(plateau.history(), SizeIs(0));
  for (int i = 0; i < 10; ++i) plateau.Add(i, 1);
  EXPECT_THAT(plateau.history(), SizeIs(4));
}

TEST(Plateau, NeverComesWithoutPatience) {
  Plateau plateau({.patience = 0, .min_gain = 0.01, .first_update = 0}, {});
  for (int i = 0; i < 100; ++i) plateau.Add(i, 1);
  EXPECT_FALSE(plateau.reason());
}

}  // namespace
}  // namespace emplace
