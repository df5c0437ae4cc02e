#include "common/strings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>

namespace emplace {

std::string Format(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  std::string text(static_cast<size_t>(std::vsnprintf(nullptr, 0, format, arguments)), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  va_end(arguments);
  return text;
}

std::string TwoDigits(int64_t number) { return StrCat(number < 10 ? "0" : "", number); }

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string joined;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) joined += separator;
    joined += parts[i];
  }
  return joined;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string FirstLine(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

bool IsUnicodeText(std::string_view text) {
  struct Form {  // Of a character's bytes.
    uint8_t lead_mask;
    uint8_t lead;
    size_t bytes;
    uint32_t lowest;  // A smaller character in so many bytes is overlong.
  };
  constexpr std::array<Form, 4> kForms = {
      {{0x80, 0x00, 1, 0}, {0xE0, 0xC0, 2, 0x80}, {0xF0, 0xE0, 3, 0x800}, {0xF8, 0xF0, 4, 0x10000}}};
  while (!text.empty()) {
    const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
    const auto* const form =
        std::ranges::find_if(kForms, [&](const Form& each) { return (byte(0) & each.lead_mask) == each.lead; });
    if (form == kForms.end() || text.size() < form->bytes) return false;
    uint32_t character = byte(0) & static_cast<uint8_t>(~form->lead_mask);
    for (size_t i = 1; i < form->bytes; ++i) {
      if ((byte(i) & 0xC0) != 0x80) return false;
      character = character << 6 | (byte(i) & 0x3F);
    }
    const bool surrogate = character >= 0xD800 && character <= 0xDFFF;
    const bool never_assigned = (character >= 0xFDD0 && character <= 0xFDEF) || (character & 0xFFFE) == 0xFFFE;
    if (character < form->lowest || character > 0x10FFFF || surrogate || never_assigned) return false;
    text.remove_prefix(form->bytes);
  }
  return true;
}

std::string ShortestDouble(double value) {
  std::array<char, 32> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), result.ptr);
}

std::string ShownSeconds(double seconds) {
  if (seconds < 0.9995e-3) return Format("%.0f us", seconds * 1e6);
  if (seconds < 0.9995) return Format("%.3g ms", seconds * 1e3);
  if (seconds < 59.995) return Format("%.2f s", seconds);
  const auto whole = static_cast<long long>(std::llround(seconds));
  return Format("%lld min %lld s", whole / 60, whole % 60);
}

std::string ShownRatio(double ratio) { return std::isnan(ratio) ? "-" : Format("%.4f", ratio); }

}  // namespace emplace
