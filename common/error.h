// Errors, by who can do something about them.
//
//   emplace::Error   this run cannot go on: bad input (exit code 2) or a failure outside our control (exit code 1).
//                    Thrown anywhere, caught once, in RunMain. Its message is one line: place, value, expectation.
//   EMPLACE_CHECK    a bug of ours; stays on in release builds and aborts with file and line.
//
// Outcomes that are expected now and then (timeout, closed, stale) are return values, not exceptions.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

namespace emplace {

class Error : public std::runtime_error {
 public:
  enum class Kind { kBadInput, kRunFailed };

  Error(Kind kind, const std::string& message);  // Line breaks and other control characters become spaces.

  Kind kind() const { return kind_; }
  // The exit code of a program that ends with this error: 2 for bad usage or bad input, 1 for a run that failed.
  int exit_code() const { return kind_ == Kind::kBadInput ? 2 : 1; }

 private:
  Kind kind_;
};

// They make an Error of either kind, to be thrown: `throw BadInput(StrCat(path, ": ..."));`
Error BadInput(const std::string& message);
Error RunFailed(const std::string& message);

// Runs the body of a program and returns the program's exit code. An Error becomes one line on stderr, "program:
// message", and the error's exit code. So does what std::filesystem throws: exit code 2 if the path is at fault. Any
// other exception becomes exit code 1, and so does output to stdout that could not be written. In it and in threads
// that it starts, subnormal numbers count as 0 (common/threads/subnormals.h).
int RunMain(const std::string& program, const std::function<int()>& body);

// Prints the failed condition with file and line, and aborts. EMPLACE_CHECK calls it.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const std::string& detail);

}  // namespace emplace

#define EMPLACE_CHECK(condition)                                                  \
  do {                                                                            \
    if (!(condition)) ::emplace::CheckFailed(__FILE__, __LINE__, #condition, ""); \
  } while (false)
