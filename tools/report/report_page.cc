#include "tools/report/report_page.h"

#include <string_view>

#include "common/error.h"
#include "tools/report/page_text.h"

namespace emplace {
namespace {

std::string EscapedHtml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// JSON holds '<' in strings only, where this says the same: no "</script>" and no "<!--" is left to end the element
// early.
std::string EmbeddedJson(const nlohmann::ordered_json& data) {
  const std::string text = data.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::ordered_json::error_handler_t::replace);
  std::string embedded;
  embedded.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      embedded += "\\u003c";
    } else {
      embedded += c;
    }
  }
  return embedded;
}

}  // namespace

std::string RenderReport(const nlohmann::ordered_json& data, const std::string& title) {
  // One pass over the template: what is put in is never searched for markers again.
  const std::string_view page = kReportHtml;
  std::string rendered;
  size_t done = 0;
  for (size_t open = page.find("{{"); open != std::string_view::npos; open = page.find("{{", done)) {
    const size_t close = page.find("}}", open);
    EMPLACE_CHECK(close != std::string_view::npos);
    const std::string_view marker = page.substr(open + 2, close - open - 2);
    rendered += page.substr(done, open - done);
    done = close + 2;
    if (marker == "title") {
      rendered += EscapedHtml(title);
    } else if (marker == "style") {
      rendered += kReportStyle;
    } else if (marker == "data") {
      rendered += EmbeddedJson(data);
    } else {
      EMPLACE_CHECK(marker == "script");
      rendered += kReportScript;
    }
  }
  rendered += page.substr(done);
  return rendered;
}

}  // namespace emplace
