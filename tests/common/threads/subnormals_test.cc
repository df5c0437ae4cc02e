#include "common/threads/subnormals.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <thread>

#include "common/error.h"

namespace emplace {
namespace {

// Half the smallest normal float, computed here and now.
float HalfTheSmallest() {
  volatile float smallest = std::numeric_limits<float>::min();
  return smallest * 0.5F;
}
// A subnormal number, read here and now.
float TwiceASubnormal() {
  volatile float subnormal = std::numeric_limits<float>::denorm_min();
  return subnormal * 2;
}

TEST(SubnormalsAsZero, HoldsWhileItLives) {
  ASSERT_GT(HalfTheSmallest(), 0);
  {
    const SubnormalsAsZero as_zero;
    EXPECT_EQ(HalfTheSmallest(), 0);
    EXPECT_EQ(TwiceASubnormal(), 0);
    {
      const SubnormalsAsZero again;
      EXPECT_EQ(HalfTheSmallest(), 0);
    }
    EXPECT_EQ(HalfTheSmallest(), 0);
  }
  EXPECT_GT(HalfTheSmallest(), 0);
  EXPECT_GT(TwiceASubnormal(), 0);
}

TEST(SubnormalsAsZero, HoldsInThreadsThatAreStartedMeanwhile) {
  std::optional<SubnormalsAsZero> as_zero(std::in_place);
  float in_thread = -1;
  std::thread thread([&in_thread] { in_thread = HalfTheSmallest(); });
  as_zero.reset();
  thread.join();
  EXPECT_EQ(in_thread, 0);
}

TEST(SubnormalsAsZero, HoldsInThePrograms) {
  float in_program = -1;
  EXPECT_EQ(RunMain("program",
                    [&in_program] {
                      in_program = HalfTheSmallest();
                      return 0;
                    }),
            0);
  EXPECT_EQ(in_program, 0);
  EXPECT_GT(HalfTheSmallest(), 0);
}

}  // namespace
}  // namespace emplace
