// What goes to a terminal before a line that replaces the last one.
#pragma once

namespace emplace {

inline constexpr char kClearLine[] = "\r\x1b[K";  // Goes to the start of the line and erases it.

}  // namespace emplace
