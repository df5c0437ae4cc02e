// The formats of files that Emplace writes: "emplace.policy/1" is version 1 of a policy.
#pragma once

#include <string>

#include "common/error.h"

namespace emplace {

// A file of another version of its format than this program reads: it is no use to look further, and it is not damaged.
class OtherVersion : public Error {
 public:
  explicit OtherVersion(const std::string& message) : Error(Kind::kBadInput, message) {}
};

// Throws OtherVersion where `found` is another version of the format `expected`, and BadInput for anything else that is
// not `expected`. `place` names the file.
void CheckFormat(const std::string& found, const std::string& expected, const std::string& place);

}  // namespace emplace
