// Says where bad input is, in errors from code that does not know.
#pragma once

#include <string>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {

// What the function returns. A BadInput that it throws gets the place before its message: "g.graph.json: op 'a': ...".
template <typename Function>
auto WithPlace(const std::string& place, const Function& function) {
  try {
    return function();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::kBadInput) throw;
    throw BadInput(StrCat(place, ": ", error.what()));
  }
}

}  // namespace emplace
