#include "common/files/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "common/error.h"
#include "common/rng.h"

namespace emplace {
namespace {

// The error for a text, "" if it is read.
std::string Refusal(const std::string& text) {
  try {
    ParseJson(text, "f");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ParseJson, SaysWhereItFails) {
  EXPECT_THAT(Refusal("{\"a\":\n tru}"), testing::StartsWith("f:2:5: not valid JSON: "));
  EXPECT_THAT(Refusal(""), testing::StartsWith("f:1:1: not valid JSON: "));
  EXPECT_THAT(Refusal(R"({"a":1e999})"), testing::StartsWith("f:1:6: not valid JSON: "));
  EXPECT_EQ(Refusal(std::string(300, '[')), "f:1:201: not valid JSON: nests deeper than 200 levels");
}

TEST(ParseJson, RefusesAKeyThatAnObjectHasTwice) {
  EXPECT_EQ(Refusal(R"({"a": 1, "b": 2, "a": 3})"), "f:1:18: key \"a\" is given twice, expected once");
  EXPECT_EQ(Refusal("[{\"x\": {}},\n {\"y\": [1, {\"c\": 1, \"c\" : 1}]}]"),
            "f:2:21: key \"c\" is given twice, expected once");
  EXPECT_EQ(Refusal(R"({"": 1, "": 2})"), "f:1:9: key \"\" is given twice, expected once");
  // Escapes: a quote in the key, and one key written in two ways.
  EXPECT_EQ(Refusal(R"({"a\"b": 1, "a\"b": 2})"), "f:1:13: key \"a\\\"b\" is given twice, expected once");
  EXPECT_EQ(Refusal(R"({"a\\": 1, "a\\": 2})"), "f:1:12: key \"a\\\\\" is given twice, expected once");
  EXPECT_EQ(Refusal(R"({"\u0061": 1, "a": 2})"), "f:1:15: key \"a\" is given twice, expected once");
  // Other objects may have it, too.
  EXPECT_EQ(Refusal(R"([{"a": {"a": {"a": []}}}, {"a": 1}])"), "");
}

nlohmann::json RandomDocument(Rng& rng, int depth) {
  const int64_t kind = rng.UniformInt(0, depth > 3 ? 4 : 6);
  if (kind == 0) return nullptr;
  if (kind == 1) return rng.UniformInt(0, 1) == 1;
  if (kind == 2) return -rng.UniformInt(1, 1000);
  if (kind == 3) return rng.Uniform();
  if (kind == 4) return "\"\\ \n" + std::to_string(rng.UniformInt(0, 9));
  nlohmann::json document = kind == 5 ? nlohmann::json::array() : nlohmann::json::object();
  for (int64_t i = rng.UniformInt(0, 4); i > 0; --i) {
    nlohmann::json entry = RandomDocument(rng, depth + 1);
    if (kind == 5) {
      document.push_back(std::move(entry));
    } else {
      document["key\"" + std::to_string(rng.UniformInt(0, 99))] = std::move(entry);
    }
  }
  return document;
}

TEST(ParseJson, ReadsWhatTheLibraryReads) {
  Rng rng(5);
  for (int i = 0; i < 300; ++i) {
    const nlohmann::json document = RandomDocument(rng, 0);
    EXPECT_EQ(ParseJson(document.dump(i % 3), "f"), document);
  }
}

}  // namespace
}  // namespace emplace
