#include "tools/report/report_page.h"

#include <gtest/gtest.h>

namespace emplace {
namespace {

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string EmbeddedText(const std::string& page) {
  const std::string open = "id=\"report-data\">";
  const size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

TEST(ReportPage, WhateverNamesHoldTheyStayText) {
  const nlohmann::ordered_json data = {{"</script><b>", "<!-- {{script}} </SCRIPT> & \xE2\x80\xA8 \\u003c"}};
  const std::string plain = RenderReport(nlohmann::ordered_json::object(), "t");
  const std::string page = RenderReport(data, "</title><script>alert(1)</script>");
  EXPECT_EQ(Count(page, "</script"), Count(plain, "</script"));
  EXPECT_EQ(Count(page, "<script"), Count(plain, "<script"));
  EXPECT_EQ(Count(page, "</title"), Count(plain, "</title"));
  EXPECT_EQ(Count(page, "<!--"), Count(plain, "<!--"));
  EXPECT_EQ(Count(page, "\"use strict\""), 1u);  // The marker inside the data stays what it is.
  EXPECT_EQ(nlohmann::ordered_json::parse(EmbeddedText(page)), data);
}

TEST(ReportPage, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(nlohmann::json::parse(EmbeddedText(RenderReport({{"name", "\xff"}}, "t")))["name"], "\xEF\xBF\xBD");
}

TEST(ReportPage, NeedsNothingFromElsewhere) {
  const std::string page = RenderReport(nlohmann::ordered_json::object(), "t");
  for (const char* outside : {"src=", "@import", "url(http", "fetch(", "XMLHttpRequest", "{{"}) {
    EXPECT_EQ(Count(page, outside), 0u) << outside;
  }
}

}  // namespace
}  // namespace emplace
