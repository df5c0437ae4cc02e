#include "common/files/onnx_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace emplace {
namespace {

using testing::HasSubstr;

// tests/python/policy_test.py loads whole models with onnx and ONNX Runtime; this is the encoding by hand.
TEST(OnnxWriter, FieldsAreEncodedAsProtocolBuffersAre) {
  OnnxWriter onnx("g");
  const std::string model = onnx.Model({{"k", "v"}});
  // ir_version 8; producer_name; graph {name: "g"}; opset_import {version: 17}; metadata_props {key: "k", value: "v"}
  EXPECT_EQ(model, std::string("\x08\x08\x12\x07"
                               "emplace\x3a\x03\x12\x01g\x42\x02\x10\x11\x72\x06\x0a\x01k\x12\x01v"));
}

TEST(OnnxWriter, NumbersTakeSevenBitsAByteAndNegativeOnesTenBytes) {
  OnnxWriter onnx("g");
  const int64_t shape[] = {1, 300};
  onnx.Constant("c", shape, std::vector<float>(300));
  // dims 1 and 300 = 2 * 128 + 44, data_type 1, name, raw_data of 1200 = 9 * 128 + 48 bytes
  EXPECT_THAT(onnx.Model({}), HasSubstr(std::string("\x08\x01\x08\xac\x02\x10\x01\x42\x01"
                                                    "c\x4a\xb0\x09")));
  onnx.Add("Concat", {"a", "b"}, {{"axis", -1}, {"mode", "up"}});
  EXPECT_THAT(onnx.Model({}), HasSubstr("\x0a\x04"
                                        "axis\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xa0\x01\x02"));
  EXPECT_THAT(onnx.Model({}), HasSubstr("\x0a\x04"
                                        "mode\x22\x02up\xa0\x01\x03"));
}

TEST(OnnxWriter, EachOperatorHasATensorOfItsOwn) {
  OnnxWriter onnx("g");
  const std::string first = onnx.Add("Relu", {"x"});
  EXPECT_NE(first, onnx.Add("Relu", {"x"}));
  EXPECT_THAT(onnx.Model({}), HasSubstr("\x12" + std::string(1, static_cast<char>(first.size())) + first));
}

}  // namespace
}  // namespace emplace
