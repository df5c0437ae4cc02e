#include "common/error.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "common/log.h"
#include "common/threads/subnormals.h"

namespace emplace {
namespace {

constexpr std::chrono::milliseconds kLogFarewell(1000);  // So that an error comes after what led to it.

// Names from files may hold line breaks; a message stays one line all the same.
std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

// Whether the path itself is at fault: none like it can be there, or we may not go there.
bool IsWrongPath(const std::error_code& code) {
  return code == std::errc::filename_too_long || code == std::errc::too_many_symbolic_link_levels ||
         code == std::errc::permission_denied || code == std::errc::not_a_directory ||
         code == std::errc::no_such_file_or_directory;
}

// What the standard library throws for a path that it cannot look at. Its own text has neither our order nor our words.
Error FileError(const std::filesystem::filesystem_error& error) {
  const std::string message = error.path1().string() + ": " + error.code().message();
  return IsWrongPath(error.code()) ? BadInput(message) : RunFailed(message);
}

int Report(const std::string& program, const Error& error) {
  FlushLog(kLogFarewell);
  std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
  return error.exit_code();
}

// Whether nobody reads what stdout leads to any more, as behind `| head`.
bool ReaderHasLeft() {
  pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

// Throws RunFailed if something that was printed is lost, as on a full disk. Nothing is lost of a reader that had
// enough.
void CheckOutputWritten() {
  bool is_known = std::fflush(stdout) != 0;
  int reason = errno;
  if ((!is_known && std::ferror(stdout) == 0) || ReaderHasLeft()) return;
  if (!is_known) {  // A part was lost earlier. What is there is no use any more, so that a byte may be tried to learn
                    // why.
    is_known = ::write(STDOUT_FILENO, "\n", 1) < 0;
    reason = errno;
  }
  throw RunFailed(std::string("standard output: cannot be written") +
                  (is_known ? std::string(": ") + std::strerror(reason) : ""));
}

}  // namespace

Error::Error(Kind kind, const std::string& message) : std::runtime_error(OneLine(message)), kind_(kind) {}

Error BadInput(const std::string& message) { return Error(Error::Kind::kBadInput, message); }
Error RunFailed(const std::string& message) { return Error(Error::Kind::kRunFailed, message); }

int RunMain(const std::string& program, const std::function<int()>& body) {
  // Who reads our output may end before us; what else is to be done is done all the same.
  std::signal(SIGPIPE, SIG_IGN);
  const SubnormalsAsZero subnormals_as_zero;
  try {
    const int exit_code = body();
    CheckOutputWritten();
    return exit_code;
  } catch (const Error& error) {
    return Report(program, error);
  } catch (const std::filesystem::filesystem_error& error) {
    return Report(program, FileError(error));
  } catch (const std::exception& error) {
    return Report(program, RunFailed(std::string("unexpected failure: ") + error.what()));
  }
}

void CheckFailed(const char* file, int line, const char* condition, const std::string& detail) {
  FlushLog(kLogFarewell);
  std::fprintf(stderr, "%s:%d: internal check failed: %s%s%s\n", file, line, condition, detail.empty() ? "" : ": ",
               detail.c_str());
  std::abort();
}

}  // namespace emplace
