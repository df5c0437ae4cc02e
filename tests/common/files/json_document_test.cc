#include "common/files/json_document.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/files/json_text.h"
#include "common/rng.h"

namespace emplace {
namespace {

// What a reader makes of a text: the document, written compactly, or its error.
std::string DocumentOutcome(const std::string& text) {
  try {
    const JsonDocument document(text, "f");
    return JsonWriter().Write(document.root());
  } catch (const Error& error) {
    return error.what();
  }
}

std::string ParseJsonOutcome(const std::string& text) {
  try {
    return ParseJson(text, "f").dump();
  } catch (const Error& error) {
    return error.what();
  }
}

std::string Lists(size_t levels, const std::string& inside = "") {
  return std::string(levels, '[') + inside + std::string(levels, ']');
}

std::string ObjectWithKeys(int first, int last) {
  std::string members;
  for (int i = first; i <= last; ++i) members += (i == first ? "\"" : ",\"") + std::to_string(i % 40) + "\":0";
  return "{" + members + "}";
}

TEST(JsonDocument, TakesWhatParseJsonTakes) {
  const std::vector<std::string> texts = {
      "", " ", "null", " true ", "falsey", "tru", "\xEF\xBB\xBF[]", "\xEF\xBB", "[1]]", "[1,]", "[,1]", "{,}",
      "{\"a\"}", "{\"a\":1,}", "{a:1}", "[1 2]", "[] x", std::string("[]\0x", 4), std::string("[\0]", 3), "// c\n1",
      // Numbers.
      "0", "-0", "-0.0", "-", "01", "-01", "1.", ".5", "1.50", "1e5", "1E+05", "1e", "1e999", "-1e999", "1e-999", "1+1",
      "9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616", "NaN", "Infinity",
      std::string(400, '7'), std::string(300, '7'), "0." + std::string(400, '3'),
      // Strings.
      R"("")", R"("a)", R"("\)", R"("\")", R"("\"")", R"("\u00e9\/\b\\")", R"("\x")", R"("\ud83d\ude00")",
      R"("\ud83d")", R"("\ude00")", R"("\u0000")", "\"\n\"", "\"\x7F\"", "\"\xC3\xA9\"", "\"\xC3\"", "\"\xED\xA0\x80\"",
      "\"\xFF\"",
      // Objects.
      R"({})", R"({"b":1,"a":{"d":[],"c":{}}})", R"({"a":1,"b":2,"a":3})", R"({"\u0061":1,"a":2})",
      R"([{"\"":1,"\"":2}])", R"({"\"":1,"!":2,"#":3})", ObjectWithKeys(0, 39), ObjectWithKeys(0, 40),
      // Depth.
      Lists(200), Lists(200, "1"), Lists(199, "{}"), Lists(201), Lists(200, "{}"), Lists(201, "1"),
      "[1e99999," + Lists(201)};
  for (const std::string& text : texts) EXPECT_EQ(DocumentOutcome(text), ParseJsonOutcome(text)) << text;
}

TEST(JsonDocument, RefusesATextWithoutAnAddress) { EXPECT_THROW(JsonDocument(std::string_view(), "f"), Error); }

TEST(JsonDocument, TakesWhatParseJsonTakesOfDamagedText) {
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
    ASSERT_EQ(DocumentOutcome(text), ParseJsonOutcome(text)) << text;
  }
}

TEST(JsonDocument, NumbersAreThoseOfParseJson) {
  for (const std::string text :
       {"0", "-0", "-0.0", "12", "-12", "0.1", "1e22", "1.7976931348623157e308", "5e-324", "1e-999", "9007199254740993",
        "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616"}) {
    const auto expected = ParseJson(text, "f").get<double>();
    const JsonDocument document(text, "f");
    const double number = document.root().get_double();
    EXPECT_EQ(number, expected) << text;
    EXPECT_EQ(std::signbit(number), std::signbit(expected)) << text;
  }
}

TEST(JsonWriter, WritesWhatDiffersFromTheLast) {
  const JsonDocument document(R"([{"b": 1, "a": 1}, {"b":1,"a":1}, {"a": 1}, {"b": 1, "a": 1}])", "f");
  JsonWriter writer;
  std::string written;
  for (const JsonElement entry : document.root().get_array()) written += writer.Write(entry);
  EXPECT_EQ(written, R"({"a":1,"b":1}{"a":1,"b":1}{"a":1}{"a":1,"b":1})");
}

}  // namespace
}  // namespace emplace
