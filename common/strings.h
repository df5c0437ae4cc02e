// Small string helpers, free of fmt so that files which include LibTorch can use them too.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace emplace {

// Concatenates all parts; each needs an operator<<. Doubles print with up to six significant digits. Text alone takes
// no stream, which costs more than all else in this.
template <typename... Parts>
std::string StrCat(const Parts&... parts) {
  if constexpr ((std::is_convertible_v<const Parts&, std::string_view> && ...)) {
    std::string text;
    (text.append(std::string_view(parts)), ...);
    return text;
  } else {
    std::ostringstream out;
    (out << ... << parts);
    return out.str();
  }
}

// What printf would print.
std::string Format(const char* format, ...) __attribute__((format(printf, 1, 2)));

// A number from 0 on, with a zero before a single digit: "07", "12", "123".
std::string TwoDigits(int64_t number);

// The parts with the separator between them: "a, b, c".
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
std::vector<std::string> Split(std::string_view text, char separator);
// Up to the first line break: what LibTorch's errors say before they explain themselves.
std::string FirstLine(std::string_view text);

// Whether the text is UTF-8 without surrogates and without code points that Unicode never assigns (U+FFFE, U+FDD0 and
// others). Other text does not survive a YAML file: yaml-cpp writes U+FFFD in place of such bytes.
bool IsUnicodeText(std::string_view text);

// The shortest text that reads back as the same double ("0.1", "12500", "1e-09").
std::string ShortestDouble(double value);

// A span of time for people, in the unit that fits: "350 us", "3.1 ms", "2.45 s", "12 min 5 s".
std::string ShownSeconds(double seconds);

// The ratio "makespan / one device" as people read it: "0.7731", or "-" for NaN, when there is no ratio.
std::string ShownRatio(double ratio);

}  // namespace emplace
