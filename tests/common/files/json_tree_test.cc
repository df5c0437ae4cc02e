#include "common/files/json_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/files/json_text.h"
#include "common/rng.h"

namespace emplace {
namespace {

// What a reader makes of a text: the document, written compactly, or its error.
std::string TreeOutcome(const std::string& text) {
  try {
    return JsonTree(text, "f").root().Dump();
  } catch (const Error& error) {
    return error.what();
  }
}

std::string LibraryOutcome(const std::string& text) {
  try {
    return ParseJson(text, "f").dump();
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(JsonTree, TakesWhatParseJsonTakes) {
  const std::vector<std::string> texts = {
      "", " ", "null", " true ", "falsey", "tru", "\xEF\xBB\xBF[]", "\xEF\xBB", "[1]]", "[1,]", "[,1]", "{,}",
      "{\"a\"}", "{\"a\":1,}", "{a:1}", "[1 2]", "[] x", std::string("[]\0x", 4), std::string("[\0]", 3), "// c\n1",
      // Numbers.
      "0", "-0", "-0.0", "-", "01", "-01", "1.", ".5", "1.50", "1e5", "1E+05", "1e", "1e999", "-1e999", "1e-999", "1+1",
      "9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616", "NaN", "Infinity",
      std::string(400, '7'), std::string(300, '7'), "0." + std::string(400, '3'),
      // Strings.
      R"("")", R"("a)", R"("\)", R"("\")", R"("\"")", R"("\u00e9\/\b\\")", R"("\x")", R"("\ud83d\ude00")",
      R"("\ud83d")", R"("\u0000")", "\"\n\"", "\"\x7F\"", "\"\xC3\xA9\"", "\"\xC3\"", "\"\xED\xA0\x80\"", "\"\xFF\"",
      // Objects.
      R"({})", R"({"b":1,"a":{"d":[],"c":{}}})", R"({"a":1,"b":2,"a":3})", R"({"\u0061":1,"a":2})",
      R"({"\"":1,"\"":2})", R"({"\"":1,"!":2,"#":3})",
      // Depth.
      std::string(200, '[') + std::string(200, ']'), std::string(201, '[') + std::string(201, ']')};
  for (const std::string& text : texts) EXPECT_EQ(TreeOutcome(text), LibraryOutcome(text)) << text;
}

TEST(JsonTree, TakesWhatParseJsonTakesOfDamagedText) {
  const std::string whole = R"( {"a": [1, -2.5e3, "x\n\u00e9", {"b": null, "c": true}], "d": {}, "\\": [[], false]} )";
  const std::string bytes = "{}[],:\"\\ \n0123.-+eEtrufalsn\x01\x7F\xC3\xA9";
  Rng rng(1);
  const auto pick = [&rng](const std::string& of) {
    return static_cast<size_t>(rng.UniformInt(0, std::ssize(of) - 1));
  };
  for (int i = 0; i < 5000; ++i) {
    std::string text = whole;
    for (int64_t changes = rng.UniformInt(1, 3); changes > 0; --changes) {
      text.replace(pick(text), static_cast<size_t>(rng.UniformInt(0, 2)), 1, bytes[pick(bytes)]);
    }
    ASSERT_EQ(TreeOutcome(text), LibraryOutcome(text)) << text;
  }
}

TEST(JsonTree, NumbersAreThoseOfTheLibrary) {
  for (const std::string text :
       {"0", "-0", "-0.0", "12", "-12", "0.1", "1e22", "1.7976931348623157e308", "5e-324", "1e-999", "9007199254740993",
        "9223372036854775807", "9223372036854775808", "18446744073709551615"}) {
    const double expected = ParseJson(text, "f").get<double>();
    const double number = JsonTree(text, "f").root().Number();
    EXPECT_EQ(number, expected) << text;
    EXPECT_EQ(std::signbit(number), std::signbit(expected)) << text;
  }
  EXPECT_EQ(JsonTree("9223372036854775807", "f").root().WholeNumber(), INT64_MAX);
  EXPECT_EQ(JsonTree("9223372036854775808", "f").root().WholeNumber(), std::nullopt);
  EXPECT_EQ(JsonTree("1.0", "f").root().WholeNumber(), std::nullopt);
}

TEST(JsonTree, GivesAwayTheEntriesOfAListInTheRoot) {
  const std::string text = R"({"x": {"list": [0]}, "list": [1, {"list": [2], "\n": "\t"}, [3]], "y": [[4]]})";
  std::vector<std::string> taken;
  const JsonTree tree(text, "f", nullptr,
                      {.key = "list", .take = [&](const JsonValue& entry) { taken.push_back(entry.Dump()); }});
  EXPECT_THAT(taken, testing::ElementsAre("1", R"({"\n":"\t","list":[2]})", "[3]"));
  EXPECT_EQ(tree.root().Dump(), R"({"list":[],"x":{"list":[0]},"y":[[4]]})");
}

}  // namespace
}  // namespace emplace
