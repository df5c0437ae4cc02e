// Small string helpers, free of fmt so that files which include LibTorch can use them too.
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

// Concatenates anything that has operator<<. Doubles print with up to `6` significant digits.
template <typename... Parts>
std::string StrCat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// "a, b, c"
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
std::vector<std::string> Split(std::string_view text, char separator);

// Whether it is UTF-8, of characters alone: neither surrogates nor what Unicode will never assign (U+FFFE, U+FDD0,
// ...). Other text does not survive a YAML file: its writer puts U+FFFD in the place of what it does not know.
bool IsUnicodeText(std::string_view text);

// The shortest text that reads back as the same double ("0.1", "12500", "1e-09").
std::string ShortestDouble(double value);

// A span of time for people, in the unit that fits: "350 us", "3.1 ms", "2.45 s", "12 min 5 s".
std::string ShownSeconds(double seconds);

// makespan / one device for people: "0.7731", or "-" for NaN, where there is none.
std::string ShownRatio(double ratio);

}  // namespace emplace
