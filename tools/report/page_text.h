// The contents of the files in page/. The build writes page_text.cc from them (tools/cmake/EmbedText.cmake).
#pragma once

#include <string_view>

namespace emplace {

extern const std::string_view kReportHtml;  // With the markers {{title}}, {{style}}, {{data}} and {{script}}.
extern const std::string_view kReportStyle;
extern const std::string_view kReportScript;  // All scripts, in the order in which CMakeLists.txt names them.

}  // namespace emplace
