#include "common/strings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "common/rng.h"

namespace emplace {
namespace {

TEST(Strings, JoinAndSplit) {
  EXPECT_EQ(Join({"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(Join({}, ", "), "");
  EXPECT_EQ(Split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(Split("alone", ','), (std::vector<std::string>{"alone"}));
  EXPECT_EQ(StrCat("x", 3, '=', 1.5), "x3=1.5");
  EXPECT_EQ(StrCat("a", std::string("b\0c", 3), std::string_view("d")), std::string("ab\0cd", 5));
}

TEST(Strings, FormatIsPrintf) {
  EXPECT_EQ(Format("%s is %d, %.2f", "it", 7, 0.5), "it is 7, 0.50");
  EXPECT_EQ(Format("%s", ""), "");
  EXPECT_EQ(Format("%1000d", 1).size(), 1000U);
}

TEST(Strings, UnicodeTextIsWhatEveryParserTakes) {
  for (const char* good :
       {"", "a b\n", "\xC3\xA9", "\xE2\x82\xAC", "\xEF\xBF\xBD", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBD"}) {
    EXPECT_TRUE(IsUnicodeText(good)) << good;
  }
  // A byte alone, cut short, overlong, a surrogate, never assigned, past the last.
  for (const char* bad : {"\xFF", "\x80", "a\xC3", "\xC3(", "\xC0\x80", "\xE0\x80\xAF", "\xED\xA0\x80", "\xEF\xBF\xBE",
                          "\xEF\xB7\x90", "\xF0\x9F\xBF\xBF", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80"}) {
    EXPECT_FALSE(IsUnicodeText(bad)) << bad;
  }
}

TEST(Strings, ASpanOfTimeIsShownInTheUnitThatFits) {
  EXPECT_EQ(ShownSeconds(0), "0 us");
  EXPECT_EQ(ShownSeconds(35e-6), "35 us");
  EXPECT_EQ(ShownSeconds(0.99951e-3), "1 ms");
  EXPECT_EQ(ShownSeconds(3.14159e-3), "3.14 ms");
  EXPECT_EQ(ShownSeconds(0.2), "200 ms");
  EXPECT_EQ(ShownSeconds(0.9996), "1.00 s");
  EXPECT_EQ(ShownSeconds(2.451), "2.45 s");
  EXPECT_EQ(ShownSeconds(59.999), "1 min 0 s");
  EXPECT_EQ(ShownSeconds(725), "12 min 5 s");
}

TEST(Strings, TheShortestDoubleReadsBackTheSame) {
  EXPECT_EQ(ShortestDouble(0.1), "0.1");
  EXPECT_EQ(ShortestDouble(12500), "12500");
  EXPECT_EQ(ShortestDouble(1e-9), "1e-09");
  Rng rng(1);
  for (int i = 0; i < 10000; ++i) {
    const uint64_t bits = rng.Next();
    double value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    if (value != value || value - value != 0) continue;  // Not finite.
    EXPECT_EQ(std::strtod(ShortestDouble(value).c_str(), nullptr), value);
  }
}

TEST(FirstLine, EndsBeforeTheFirstBreak) {
  EXPECT_EQ(FirstLine("what\nwhere\n"), "what");
  EXPECT_EQ(FirstLine("what"), "what");
  EXPECT_EQ(FirstLine("\nwhere"), "");
  EXPECT_EQ(FirstLine(""), "");
}

}  // namespace
}  // namespace emplace
