#include "actor/trajectory_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;

// What goes wrong on its thread, such as no descriptor for a connection, must not end the process without a word.
TEST(TrajectorySender, AFailureOfItsThreadReachesWhoeverOffers) {
  TrajectorySender sender(2);
  sender.SetLearner("no address", 1);
  try {
    for (int i = 0; i < 1000; ++i) sender.Offer(Trajectory(), milliseconds(20));
    ADD_FAILURE() << "nothing is said";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 1);
    EXPECT_THAT(error.what(), testing::HasSubstr("trajectories cannot be sent: "));
  }
}

}  // namespace
}  // namespace emplace
