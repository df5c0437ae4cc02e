#include "common/error.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "common/log.h"

namespace emplace {
namespace {

constexpr std::chrono::milliseconds kLogFarewell(1000);  // So that an error comes after what led to it.

// Names from files may hold line breaks; a message stays one line all the same.
std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

}  // namespace

Error::Error(Kind kind, const std::string& message) : std::runtime_error(OneLine(message)), kind_(kind) {}

Error BadInput(const std::string& message) { return Error(Error::Kind::kBadInput, message); }
Error RunFailed(const std::string& message) { return Error(Error::Kind::kRunFailed, message); }

int RunMain(const std::string& program, const std::function<int()>& body) {
  // Who reads our output may end before us; what else is to be done is done all the same.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return body();
  } catch (const Error& error) {
    FlushLog(kLogFarewell);
    std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    FlushLog(kLogFarewell);
    std::fprintf(stderr, "%s: unexpected failure: %s\n", program.c_str(), OneLine(error.what()).c_str());
    return 1;
  }
}

void CheckFailed(const char* file, int line, const char* condition, const std::string& detail) {
  FlushLog(kLogFarewell);
  std::fprintf(stderr, "%s:%d: internal check failed: %s%s%s\n", file, line, condition, detail.empty() ? "" : ": ",
               detail.c_str());
  std::abort();
}

}  // namespace emplace
