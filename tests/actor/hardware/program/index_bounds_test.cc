#include "actor/hardware/program/index_bounds.h"

#include <gtest/gtest.h>

#include <string>

namespace emplace {
namespace {

Op Made(const std::string& name, std::vector<int64_t> shape, const std::string& call = "",
        const std::vector<OpIndex>& inputs = {}) {
  Op op;
  op.name = name;
  op.outputs = {{.bytes = 0, .shape = std::move(shape), .dtype = "i64"}};
  op.call_json = call;
  for (const OpIndex input : inputs) op.inputs.push_back({input, 0});
  return op;
}

TEST(IndexBounds, AreTheLeastSizeThatTheNumbersAreAnIndexInto) {
  const char* const embedding = R"({"op": "aten.embedding.default", "args": [{"in": 0}, {"in": 1}]})";
  const OpGraph graph(
      "", {Made("table", {50, 8}), Made("positions", {16, 8}), Made("tokens", {4}),
           Made("copy", {4}, R"({"op": "aten.clone.default", "args": [{"in": 0}]})", {2}),
           Made("words", {4, 8}, embedding, {0, 2}), Made("places", {4, 8}, embedding, {1, 3}), Made("mask", {4}),
           Made("same", {4}, R"({"op": "aten.eq.Tensor", "args": [{"in": 0}, {"in": 1}]})", {2, 6})});
  const std::vector<int64_t> bounds = IndexBounds(graph);
  EXPECT_EQ(bounds[2], 16);  // By the copy, which is an index into the 16 positions.
  EXPECT_EQ(bounds[3], 16);
  EXPECT_EQ(bounds[6], 2);
}

TEST(IndexBounds, ClassesAreCountedAfterViews) {
  const auto loss = [](const std::string& view) {
    return R"({"op": "aten.nll_loss_forward.default", "args": [{"in": 0, "views": [)" + view + R"(]}, {"in": 1}]})";
  };
  const OpGraph graph("", {Made("scores", {3, 4, 30}), Made("labels", {12}),
                           Made("loss", {}, loss(R"(["aten.view.default", [[12, 30]]])"), {0, 1}), Made("others", {12}),
                           Made("other loss", {}, loss(R"(["aten.t.default", []])"), {0, 3}), Made("copied", {12}),
                           Made("loss of a copy", {}, loss(R"(["aten.reshape.default", [[12, 30]]])"), {0, 5})});
  EXPECT_EQ(IndexBounds(graph)[1], 30);
  EXPECT_EQ(IndexBounds(graph)[3], 1);  // Not known, so only index 0 is certain to be there.
  EXPECT_EQ(IndexBounds(graph)[5], 30);
}

TEST(IndexBounds, AListIndexesTheDimensionsInTurn) {
  const char* const index = R"({"op": "aten.index.Tensor", "args": [
    {"in": 0}, {"list": [{"const": null, "as": "none"}, {"in": 1}]}]})";
  const OpGraph graph("", {Made("x", {9, 7}), Made("i", {2}), Made("rows", {9, 2}, index, {0, 1})});
  EXPECT_EQ(IndexBounds(graph)[1], 7);
}

TEST(IndexBounds, BagsBeginAtTheFirstIndex) {
  const char* const bag = R"({"op": "aten._embedding_bag.default", "args": [{"in": 0}, {"in": 1}, {"in": 2}]})";
  const OpGraph graph(
      "", {Made("table", {9, 7}), Made("i", {4}), Made("begins", {2}), Made("sums", {2, 7}, bag, {0, 1, 2})});
  EXPECT_EQ(IndexBounds(graph)[1], 9);
  EXPECT_EQ(IndexBounds(graph)[2], 1);  // All 0.
}

}  // namespace
}  // namespace emplace
