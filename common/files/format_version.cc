#include "common/files/format_version.h"

#include "common/strings.h"

namespace emplace {

void CheckFormat(const std::string& found, const std::string& expected, const std::string& place) {
  if (found == expected) return;
  const std::string message = StrCat(place, ": format is '", found, "', expected '", expected, "'");
  if (found.starts_with(expected.substr(0, expected.rfind('/') + 1))) {
    throw OtherVersion(StrCat(message, ": it was written by another version of Emplace"));
  }
  throw BadInput(message);
}

}  // namespace emplace
