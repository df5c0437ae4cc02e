#include "common/files/csv.h"

#include <gtest/gtest.h>

#include "common/rng.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

std::vector<std::string> Texts(const CsvRow& row) {
  std::vector<std::string> texts;
  for (const CsvField& field : row) texts.push_back(field.text);
  return texts;
}

std::string CsvError(const std::string& text) {
  return BadInputOf([&] { ParseCsv(text, "t.csv"); }, "t.csv:");
}

TEST(Csv, ReadsPlainAndQuotedFields) {
  const CsvTable table = ParseCsv("a,b\n1,\"x,\"\"y\"\"\nz\"\n\n,\"\"\r\n3,4", "t.csv");
  EXPECT_EQ(Texts(table.header), (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(Texts(table.rows[0]), (std::vector<std::string>{"1", "x,\"y\"\nz"}));
  EXPECT_EQ(Texts(table.rows[1]), (std::vector<std::string>{"", ""}));
  EXPECT_EQ(Texts(table.rows[2]), (std::vector<std::string>{"3", "4"}));
}

TEST(Csv, FieldsKnowTheirPlace) {
  const CsvTable table = ParseCsv("a,b\n\"1\n2\",3\n\n45,6\n", "t.csv");
  EXPECT_EQ(table.rows[0][1].line, 3);  // The quoted line break counts.
  EXPECT_EQ(table.rows[0][1].column, 4);
  EXPECT_EQ(table.rows[1][1].line, 5);  // And so does the blank line.
  EXPECT_EQ(table.rows[1][1].column, 4);
}

TEST(Csv, SkipsAByteOrderMark) {
  EXPECT_EQ(ParseCsv("\xEF\xBB\xBF"
                     "a\n1\n",
                     "t.csv")
                .header[0]
                .text,
            "a");
}

TEST(Csv, SaysWhereATableIsBroken) {
  EXPECT_EQ(CsvError(""), "t.csv:1:1: is empty, expected a line of column names");
  EXPECT_EQ(CsvError("\n\r\n"), "t.csv:1:1: is empty, expected a line of column names");
  EXPECT_EQ(CsvError("a,b,a\n"), "t.csv:1:5: column 'a' comes twice, expected once");
  EXPECT_EQ(CsvError("a,b\n1\n"), "t.csv:2:1: the row has 1 fields, expected 2");
  EXPECT_EQ(CsvError("a,b\n1,2\n1,2,3\n"), "t.csv:3:1: the row has 3 fields, expected 2");
  EXPECT_EQ(CsvError("a,b\n1,\"2\n"), "t.csv:2:3: a quote is never closed, expected '\"'");
  EXPECT_EQ(CsvError("a,b\n1,\"2\"3\n"), "t.csv:2:6: text after a closing quote, expected a comma or the line's end");
  EXPECT_EQ(CsvError("a,b\n1,2\"\n"), "t.csv:2:4: a quote inside a field, expected the whole field in quotes");
}

TEST(Csv, AnyTextIsReadOrRefused) {
  constexpr std::string_view kAlphabet = "a,\"\n\r1";
  Rng rng(1);
  for (int round = 0; round < 20000; ++round) {
    std::string text(static_cast<size_t>(rng.UniformInt(0, 12)), ' ');
    for (char& c : text) c = kAlphabet[static_cast<size_t>(rng.UniformInt(0, std::ssize(kAlphabet) - 1))];
    try {
      const CsvTable table = ParseCsv(text, "t.csv");
      for (const CsvRow& row : table.rows) EXPECT_EQ(row.size(), table.header.size());
    } catch (const Error& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("t.csv:")) << error.what();
    }
  }
}

}  // namespace
}  // namespace emplace
