#include "policy/field_sizes.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <variant>

#include "policy/policy_kinds.h"

namespace emplace {
namespace {

struct SizedBase {
  int32_t width = 8;
};
struct SizedKeys : SizedBase {
  bool deep = false;
  double scale = 0.3;
  int64_t seed = 5;  // No size.
};

FieldTable<SizedKeys> SizedTable() {
  FieldTable<SizedKeys> t;
  t.Field("width", &SizedKeys::width).Range(2, 100).Size().Help("");
  t.Field("deep", &SizedKeys::deep).Size({.if_absent = 1}).Help("");
  t.Field("scale", &SizedKeys::scale).Range(0.1, 20).Size({.name = "scale_tenths", .per_unit = 10}).Help("");
  t.Field("seed", &SizedKeys::seed).Range(0, 9).Help("");
  return t;
}

TEST(FieldSizes, AFileMaySayWhatAConfigurationMay) {
  const std::vector<SizeField> sizes = SizesOf(SizedTable().fields());
  ASSERT_EQ(sizes.size(), 3U);
  EXPECT_EQ(sizes[0].name, "width");
  EXPECT_EQ(std::pair(sizes[0].low, sizes[0].high), std::pair(int64_t{2}, int64_t{100}));
  EXPECT_EQ(sizes[0].if_absent, std::nullopt);
  EXPECT_EQ(sizes[1].name, "deep");
  EXPECT_EQ(std::pair(sizes[1].low, sizes[1].high), std::pair(int64_t{0}, int64_t{1}));
  EXPECT_EQ(sizes[1].if_absent, 1);
  EXPECT_EQ(sizes[2].name, "scale_tenths");
  EXPECT_EQ(std::pair(sizes[2].low, sizes[2].high), std::pair(int64_t{1}, int64_t{200}));
}

TEST(FieldSizes, SizesComeFromTheirKeysAndBack) {
  const std::vector<ConfigField> fields = SizedTable().fields();
  SizedKeys keys;
  EXPECT_EQ(SizesIn(fields, &keys), (std::map<std::string, int64_t>{{"width", 8}, {"deep", 0}, {"scale_tenths", 3}}));
  keys.seed = 7;
  SetSizes(fields, {{"width", 11}, {"deep", 1}, {"scale_tenths", 124}}, &keys);
  EXPECT_EQ(keys.width, 11);
  EXPECT_TRUE(keys.deep);
  EXPECT_EQ(keys.scale, 12.4);
  EXPECT_EQ(keys.seed, 7);
}

TEST(FieldSizes, ADifferenceIsToldByItsKey) {
  const PolicyKind& kind = FindPolicyKind("hierarchical");
  const PolicyShape shape = kind.Shape({.kind = "hierarchical", .initial = "", .own = {}}, 2);
  EXPECT_EQ(FirstDifference(kind, shape, shape), "");
  PolicyShape other = shape;
  other.sizes["balanced"] = 0;
  EXPECT_EQ(FirstDifference(kind, shape, other), "policy.balanced is true, expected false");
  other = shape;
  other.sizes["tanh_tenths"] = 72;
  EXPECT_EQ(FirstDifference(kind, shape, other), "policy.tanh_constant is 5, expected 7.2");
  other.sizes["hidden"] = 32;
  EXPECT_EQ(FirstDifference(kind, shape, other), "policy.hidden is 64, expected 32");
  other.num_devices = 4;
  EXPECT_EQ(FirstDifference(kind, shape, other), "the machine has 2 devices, expected 4");
  other.kind = "sgdp";
  EXPECT_EQ(FirstDifference(kind, shape, other), "policy.kind is hierarchical, expected sgdp");
}

// With every key at either end of its range: the sizes are those that a file of the kind may have, and all of them.
TEST(FieldSizes, OfEveryKindFitItsFiles) {
  for (const std::string& name : PolicyKindNames()) {
    SCOPED_TRACE(name);
    const PolicyKind& kind = FindPolicyKind(name);
    for (const bool lowest : {true, false}) {
      PolicyConfig config{.kind = name, .initial = "", .own = {}};
      for (const auto& [key, value] : kind.Defaults()) config.own[key] = value;
      for (const ConfigField& field : kind.fields()) {
        const double end = lowest ? field.low : field.high;
        ConfigField::Value& value = config.own[field.name];
        if (std::holds_alternative<bool>(value)) value = !lowest;
        if (std::holds_alternative<int64_t>(value)) value = static_cast<int64_t>(end);
        if (std::holds_alternative<double>(value)) value = end;
      }
      const PolicyShape shape = kind.Shape(config, 3);
      EXPECT_EQ(shape.kind, name);
      EXPECT_TRUE(shape.FitsDevices(3));
      EXPECT_EQ(shape.sizes.size(), kind.Sizes().size());
      for (const SizeField& size : kind.Sizes()) {
        EXPECT_GE(shape.sizes.at(size.name), size.low) << size.name;
        EXPECT_LE(shape.sizes.at(size.name), size.high) << size.name;
      }
      for (const SizeField& size : SizesOf(kind.fields())) {  // Those that have a key.
        EXPECT_EQ(shape.sizes.at(size.name), lowest ? size.low : size.high) << size.name;
      }
    }
  }
}

}  // namespace
}  // namespace emplace
