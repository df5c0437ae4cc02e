#include "simulator/families/workloads/ranges.h"

#include <string_view>
#include <vector>

#include "common/error.h"
#include "common/parse_number.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr int64_t kMost = 1'000'000'000;  // Shapes of several such numbers stay below 2^63.

int64_t NumberInRange(std::string_view digits, const std::string& text) {
  const std::optional<int64_t> value = ParseNumber<int64_t>(digits);
  if (!value || *value < 1 || *value > kMost)
    throw BadInput(StrCat("range '", text, "': '", digits, "' is not a whole number in 1..", kMost));
  return *value;
}

}  // namespace

void Ranges::Override(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) throw BadInput(StrCat("range '", text, "': expected name=low..high"));
  const auto found = ranges_.find(text.substr(0, equals));
  if (found == ranges_.end()) {
    std::vector<std::string> known;
    for (const auto& [name, range] : ranges_) known.push_back(name);
    throw BadInput(StrCat("range '", text, "': unknown name '", text.substr(0, equals),
                          "', expected one of: ", Join(known, ", ")));
  }
  IntRange& range = found->second;
  const std::string_view ends = std::string_view(text).substr(equals + 1);
  const size_t dots = ends.find("..");
  const int64_t low = NumberInRange(ends.substr(0, dots), text);
  const int64_t high = dots == std::string_view::npos ? low : NumberInRange(ends.substr(dots + 2), text);
  if (low > high) throw BadInput(StrCat("range '", text, "': low is above high, expected low..high with low <= high"));
  const int64_t first = (low + range.multiple - 1) / range.multiple * range.multiple;
  const int64_t last = high / range.multiple * range.multiple;
  if (first > last)
    throw BadInput(StrCat("range '", text, "': holds no multiple of ", range.multiple, ", expected at least one"));
  range.low = first;
  range.high = last;
}

int64_t Ranges::Draw(const std::string& name, Rng& rng) const {
  const IntRange& range = ranges_.at(name);
  return range.multiple * rng.UniformInt(range.low / range.multiple, range.high / range.multiple);
}

}  // namespace emplace
