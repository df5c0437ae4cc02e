#include "common/config/field_table.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>

#include "common/error.h"
#include "common/parse_number.h"
#include "common/strings.h"

namespace emplace {
namespace {

size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

// "100000" rather than the shorter "1e+05".
std::string ShownBound(double value) {
  constexpr double kMostDigits = 1e15;
  const bool is_whole = std::abs(value) < kMostDigits && value == std::floor(value);
  return is_whole ? Format("%.0f", value) : ShortestDouble(value);
}

template <typename T>
std::optional<ConfigField::Value> ParsedAs(const std::string& text) {
  if constexpr (std::is_same_v<T, bool>) {
    if (text == "true") return true;
    if (text == "false") return false;
    return std::nullopt;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return ParseNumber<T>(text);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return text;
  } else {
    return std::nullopt;
  }
}

}  // namespace

std::string ConfigField::Expected(const Value& like) const {
  if (has_range) return StrCat(ShownBound(low), "..", ShownBound(high));
  if (!choices.empty()) return StrCat("one of ", Join(choices, ", "));
  if (std::holds_alternative<int64_t>(like)) return "a whole number";
  if (std::holds_alternative<uint64_t>(like)) return "a whole number from 0 to 2^64 - 1";
  if (std::holds_alternative<double>(like)) return "a number";
  if (std::holds_alternative<bool>(like)) return "true or false";
  if (std::holds_alternative<std::string>(like)) return "text";
  return "a list of texts";
}

std::string ConfigField::Check(const Value& value) const {
  if (has_range) {
    double number = 0;
    if (const auto* whole = std::get_if<int64_t>(&value)) number = static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&value)) number = *real;
    if (!(number >= low && number <= high)) return Expected(value);
  }
  if (!choices.empty()) {
    const std::string& text = std::get<std::string>(value);
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) return Expected(value);
  }
  return "";
}

ConfigField::Value ConfigField::Parse(const std::string& text, const Value& like) const {
  const std::optional<Value> value =
      std::visit([&](const auto& kind) { return ParsedAs<std::decay_t<decltype(kind)>>(text); }, like);
  const std::string expected = value ? Check(*value) : Expected(like);
  if (!expected.empty()) throw BadInput(StrCat(name, " is '", text, "', expected ", expected));
  return *value;
}

void CheckFields(const std::vector<ConfigField>& fields, const void* section) {
  for (const ConfigField& field : fields) {
    const ConfigField::Value value = field.get(section);
    const std::string expected = field.Check(value);
    if (!expected.empty()) throw BadInput(StrCat(field.name, " is ", TextOf(value), ", expected ", expected));
  }
}

std::string TextOf(const ConfigField::Value& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, bool>) return held ? "true" : "false";
        if constexpr (std::is_same_v<T, double>) return ShortestDouble(held);
        if constexpr (std::is_same_v<T, std::string>) return held;
        if constexpr (std::is_integral_v<T>) return std::to_string(held);
        return "";
      },
      value);
}

std::string NearestName(const std::string& word, const std::vector<std::string>& candidates) {
  std::string nearest;
  size_t best = word.size() / 3 + 2;  // Anything farther is another word, not a slip.
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string DidYouMean(const std::string& word, const std::vector<std::string>& known) {
  const std::string nearest = NearestName(word, known);
  return nearest.empty() ? StrCat(", expected one of ", Join(known, ", ")) : StrCat(", did you mean '", nearest, "'?");
}

}  // namespace emplace
