// The formats of files that Emplace writes: "emplace.policy/1" is version 1 of a policy.
#pragma once

#include <string>

#include "common/error.h"

namespace emplace {

// The error for a file that is sound but has a version of its format that this program does not read.
class OtherVersion : public Error {
 public:
  explicit OtherVersion(const std::string& message) : Error(Kind::kBadInput, message) {}
};

// Throws OtherVersion when `found` is another version of the format `expected`, and BadInput when it is another format
// or none. `place` names the file in the error.
void CheckFormat(const std::string& found, const std::string& expected, const std::string& place);

}  // namespace emplace
