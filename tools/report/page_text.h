// The files of page/, as the build found them (tools/cmake/EmbedText.cmake writes page_text.cc).
#pragma once

#include <string_view>

namespace emplace {

extern const std::string_view kReportHtml;  // With the markers {{title}}, {{style}}, {{data}} and {{script}}.
extern const std::string_view kReportStyle;
extern const std::string_view kReportScript;  // All scripts, in the order in which CMakeLists.txt names them.

}  // namespace emplace
