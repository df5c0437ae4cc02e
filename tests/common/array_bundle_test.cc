#include "common/array_bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "common/error.h"

namespace emplace {
namespace {

using ::testing::HasSubstr;

std::string MessageOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "(nothing thrown)";
}

TEST(ArrayBundle, GivesBackEveryTypeBitForBit) {
  const std::vector<uint8_t> u8 = {0, 255};
  const std::vector<int32_t> i32 = {std::numeric_limits<int32_t>::min(), -1, 7};
  const std::vector<int64_t> i64 = {std::numeric_limits<int64_t>::max(), -2};
  const std::vector<uint64_t> u64 = {std::numeric_limits<uint64_t>::max()};
  const std::vector<float> f32 = {-0.0F, 1e-40F, std::numeric_limits<float>::infinity()};
  const std::vector<double> f64 = {0.1, -1e308};
  ArrayBundle bundle;
  bundle.Put("u8", u8);
  bundle.Put("i32", i32);
  bundle.Put("i64", i64);
  bundle.Put("u64", u64);
  bundle.Put("f32", f32);
  bundle.Put("f64", f64);
  EXPECT_EQ(bundle.Get<uint8_t>("u8"), u8);
  EXPECT_EQ(bundle.Get<int32_t>("i32"), i32);
  EXPECT_EQ(bundle.Get<int64_t>("i64"), i64);
  EXPECT_EQ(bundle.Get<uint64_t>("u64"), u64);
  EXPECT_EQ(bundle.Get<float>("f32"), f32);
  EXPECT_TRUE(std::signbit(bundle.Get<float>("f32")[0]));
  EXPECT_EQ(bundle.Get<double>("f64"), f64);
  EXPECT_EQ(bundle.arrays()[1].bytes.size(), 3 * SizeOf(ArrayType::kInt32));
}

TEST(ArrayBundle, LiesLittleEndian) {
  ArrayBundle bundle;
  bundle.Put("i32", std::vector<int32_t>{0x01020304});
  EXPECT_EQ(bundle.arrays()[0].bytes, (std::vector<uint8_t>{4, 3, 2, 1}));
}

TEST(ArrayBundle, KeepsEmptyArraysAndTextWithZeros) {
  ArrayBundle bundle;
  bundle.Put("none", std::vector<double>{});
  bundle.PutText("text", std::string("a\0b", 3));
  bundle.PutText("empty", "");
  EXPECT_TRUE(bundle.Get<double>("none").empty());
  EXPECT_EQ(bundle.GetText("text"), std::string("a\0b", 3));
  EXPECT_EQ(bundle.GetText("empty"), "");
}

TEST(ArrayBundle, NamesWhatIsMissingOrOfAnotherType) {
  ArrayBundle bundle;
  bundle.Put("cost", std::vector<double>{1});
  EXPECT_THAT(MessageOf([&] { bundle.Get<double>("price"); }), HasSubstr("array 'price'"));
  EXPECT_THAT(MessageOf([&] { bundle.Get<float>("cost"); }), HasSubstr("array 'cost'"));
  EXPECT_THAT(MessageOf([&] { bundle.GetText("cost"); }), HasSubstr("array 'cost'"));
}

TEST(ArrayBundle, RefusesHalfAnElement) {
  ArrayBundle bundle;
  bundle.Put("cost", std::vector<double>{1, 2});
  bundle.arrays()[0].bytes.pop_back();
  EXPECT_THROW(bundle.Get<double>("cost"), Error);
}

}  // namespace
}  // namespace emplace
