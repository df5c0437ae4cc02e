#include "actor/hardware/program/aten_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actor/hardware/program/allowed_ops.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

using ::testing::HasSubstr;

// An op with a data input, a control edge, and this call.
Op OpWithCall(const std::string& call) {
  Op op;
  op.name = "x";
  op.inputs = {{0, 0}, {1, OpInput::kControl}};
  op.call_json = call;
  return op;
}

std::string CallError(const std::string& call) {
  return BadInputOf([&] { ParseAtenCall(OpWithCall(call)); }, "op 'x'");
}

TEST(AtenCall, ReadsArgumentsOfAllKinds) {
  const AtenCall call = ParseAtenCall(OpWithCall(R"({
    "op": "aten.cat.default",
    "args": [{"list": [{"in": 0, "views": [["aten.slice.Tensor", [0, 0, 9223372036854775807, 1]], ["aten.t.default", []]]},
                       {"const": null, "as": "none"}]},
             {"const": [2, 32], "as": "int[]"}, {"const": "-inf", "as": "float"}, {"const": 2, "as": "float"}],
    "kwargs": {"dtype": {"const": "f32", "as": "dtype"}, "flags": {"const": [true, false], "as": "bool[]"}}})"));
  EXPECT_EQ(call.op, "aten.cat.default");
  ASSERT_EQ(call.args.size(), 4u);
  const auto& list = std::get<AtenList>(call.args[0].value);
  const auto& tensor = std::get<TensorArgument>(list.at(0).value);
  EXPECT_EQ(tensor.input, 0u);
  ASSERT_EQ(tensor.views.size(), 2u);
  EXPECT_EQ(tensor.views[0].op, "aten.slice.Tensor");
  EXPECT_EQ(std::get<int64_t>(tensor.views[0].args.at(2)), 9223372036854775807);
  EXPECT_EQ(std::get<AtenConstant>(list.at(1).value), AtenConstant(std::monostate()));
  EXPECT_EQ(std::get<AtenConstant>(call.args[1].value), AtenConstant(std::vector<int64_t>{2, 32}));
  EXPECT_EQ(std::get<AtenConstant>(call.args[2].value), AtenConstant(-std::numeric_limits<double>::infinity()));
  EXPECT_EQ(std::get<AtenConstant>(call.args[3].value), AtenConstant(2.0));
  ASSERT_EQ(call.kwargs.size(), 2u);
  EXPECT_EQ(std::get<AtenConstant>(call.kwargs[0].second.value),
            AtenConstant(NamedConstant{NamedConstant::Kind::kDtype, "f32"}));
  EXPECT_EQ(std::get<AtenConstant>(call.kwargs[1].second.value), AtenConstant(std::vector<bool>{true, false}));
}

TEST(AtenCall, RefusesWithTheOpsName) {
  EXPECT_THAT(CallError(""), HasSubstr("has no call, expected a graph whose ops can be run"));
  EXPECT_THAT(CallError("{}"), HasSubstr("'op' is missing"));
  EXPECT_THAT(CallError(R"({"op": "aten.from_file.default"})"),
              HasSubstr("op is \"aten.from_file.default\", expected"));
  EXPECT_THAT(CallError(R"({"op": "mine.custom.default"})"), HasSubstr("expected an operator that may be run"));
  EXPECT_THAT(CallError(R"({"op": 1})"), HasSubstr("op is 1, expected"));
  const auto argument = [](const std::string& json) {
    return CallError(R"({"op": "aten.relu.default", "args": [)" + json + "]}");
  };
  EXPECT_THAT(argument(R"({"in": 2})"), HasSubstr("in is 2, expected the index of one of the op's 2 inputs"));
  EXPECT_THAT(argument(R"({"in": -1})"), HasSubstr("in is -1"));
  EXPECT_THAT(argument(R"({"in": 1})"), HasSubstr("that carries a tensor"));
  EXPECT_THAT(argument(R"({"in": 0, "view": []})"), HasSubstr("unknown key 'view'"));
  EXPECT_THAT(argument(R"({"in": 0, "views": [["aten.mm.default", []]]})"), HasSubstr("expected a view operator"));
  EXPECT_THAT(argument(R"({"in": 0, "views": [["aten.t.default"]]})"), HasSubstr("expected a view [operator"));
  EXPECT_THAT(argument("3"), HasSubstr("expected an argument with in, list, or const and as"));
  EXPECT_THAT(argument(R"({"const": 1.5, "as": "int"})"), HasSubstr("expected a whole number"));
  EXPECT_THAT(argument(R"({"const": 1, "as": "device"})"), HasSubstr("expected a constant"));
  EXPECT_THAT(argument(R"({"const": "cuda", "as": "device"})"), HasSubstr("expected a constant of a known type"));
}

TEST(AllowedOps, HoldsNothingThatReachesBeyondTensors) {
  for (const std::string_view name : AllowedOps()) {
    EXPECT_TRUE(name.starts_with("aten.")) << name;
    EXPECT_TRUE(IsAllowedOp(name));
    for (const char* word : {"file", "set_", "resize", "storage", "pin", "print", "stream", "record"}) {
      EXPECT_EQ(name.find(word), std::string_view::npos) << name;
    }
  }
  EXPECT_FALSE(IsAllowedOp(""));
  EXPECT_FALSE(IsAllowedOp("aten.mm"));
}

}  // namespace
}  // namespace emplace
