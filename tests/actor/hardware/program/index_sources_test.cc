#include "actor/hardware/program/index_sources.h"

#include <gtest/gtest.h>

#include <string>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

Op Given(const std::string& name) {
  Op op;
  op.name = name;
  op.outputs.resize(1);
  return op;
}

Op Called(const std::string& name, const std::vector<OpInput>& inputs, const std::string& call) {
  Op op;
  op.name = name;
  op.inputs = inputs;
  op.outputs.resize(2);
  op.call_json = call;
  return op;
}

constexpr char kPool[] =
    R"({"op": "aten.adaptive_max_pool2d.default", "args": [{"in": 0}, {"const": [2, 2], "as": "int[]"}]})";

// Ops 0 to 3: an image, a gradient, another image, and what is pooled of the first; then its backward op.
void CheckBackward(const std::vector<OpInput>& inputs, const std::string& views = "[]",
                   const std::string& pool = kPool) {
  const std::string call = StrCat(R"({"op": "aten.adaptive_max_pool2d_backward.default", "args": [{"in": 0},)",
                                  R"({"in": 1, "views": )", views, R"(}, {"in": 2}]})");
  CheckIndexSources(OpGraph("", {Given("image"), Given("gradient"), Given("other"), Called("pool", {{0, 0}}, pool),
                                 Called("back", inputs, call)}));
}

void ExpectRefused(const std::vector<OpInput>& inputs, const std::string& views = "[]",
                   const std::string& pool = kPool) {
  try {
    CheckBackward(inputs, views, pool);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "op 'back': call: expected as indices the second output of aten.adaptive_max_pool2d.default of "
                 "argument 1");
  }
}

TEST(IndexSources, AreTheForwardOpOfTheSameTensor) {
  EXPECT_NO_THROW(CheckBackward({{1, 0}, {0, 0}, {3, 1}}));
  ExpectRefused({{1, 0}, {0, 0}, {2, 0}});                                           // Indices from anywhere.
  ExpectRefused({{1, 0}, {0, 0}, {3, 0}});                                           // Another output.
  ExpectRefused({{1, 0}, {2, 0}, {3, 1}});                                           // Of another image.
  ExpectRefused({{1, 0}, {0, 0}, {3, 1}}, R"([["aten.slice.Tensor", [0, 0, 1]]])");  // Of more of the image.
  ExpectRefused({{1, 0}, {0, 0}, {3, 1}}, "[]",
                R"({"op": "aten.max.dim", "args": [{"in": 0}, {"const": 0, "as": "int"}]})");
}

TEST(IndexSources, AreOfTheSameViewOfATensor) {
  const char* const view = R"(["aten.unsqueeze.default", [0]])";
  const std::string pool = StrCat(R"({"op": "aten.adaptive_max_pool2d.default", "args": [{"in": 0, "views": [)", view,
                                  R"(]}, {"const": [2, 2], "as": "int[]"}]})");
  EXPECT_NO_THROW(CheckBackward({{1, 0}, {0, 0}, {3, 1}}, StrCat("[", view, "]"), pool));
  ExpectRefused({{1, 0}, {0, 0}, {3, 1}}, "[]", pool);
}

TEST(IndexSources, ScalesNoGradientOfAnEmbeddingByFrequency) {
  const auto check = [](const std::string& scales) {
    const std::string call = StrCat(R"({"op": "aten.embedding_dense_backward.default", "args": [{"in": 0}, {"in": 1},)",
                                    R"({"const": 9, "as": "int"}, {"const": -1, "as": "int"}, )", scales, "]}");
    CheckIndexSources(OpGraph("", {Given("gradient"), Given("words"), Called("back", {{0, 0}, {1, 0}}, call)}));
  };
  EXPECT_NO_THROW(check(R"({"const": false, "as": "bool"})"));
  EXPECT_THROW(check(R"({"const": true, "as": "bool"})"), Error);
}

}  // namespace
}  // namespace emplace
