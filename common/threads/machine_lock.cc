#include "common/threads/machine_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// While a lock is held: flock itself cannot wait for a limited time.
constexpr std::chrono::milliseconds kLookAgain(1);
constexpr mode_t kReadableByAll = 0644;  // Whoever may read a file may lock it.

// A link that another user has put there is not followed.
FileDescriptor Open(const fs::path& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
  // First without O_CREAT: Linux refuses it for other users' files in folders that everybody may write to.
  int file = ::open(path.c_str(), kFlags);
  if (file < 0 && errno == ENOENT) {
    file = ::open(path.c_str(), kFlags | O_CREAT | O_EXCL, kReadableByAll);
    if (file >= 0) ::fchmod(file, kReadableByAll);                         // Whatever the process's umask is.
    if (file < 0 && errno == EEXIST) file = ::open(path.c_str(), kFlags);  // Another process was faster.
  }
  if (file < 0) throw RunFailed(StrCat(path.string(), ": cannot open the lock file: ", std::strerror(errno)));
  return FileDescriptor(file);
}

// Whether the lock is held now: LOCK_SH or LOCK_EX.
bool TryLock(int file, int kind) {
  while (::flock(file, kind | LOCK_NB) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

bool LockUntil(int file, int kind, Clock::time_point deadline, const StopSignal& stop = {}) {
  while (!TryLock(file, kind)) {
    if (Clock::now() >= deadline || stop.Now()) return false;
    std::this_thread::sleep_for(kLookAgain);
  }
  return true;
}

void Unlock(int file) { ::flock(file, LOCK_UN); }

}  // namespace

fs::path MachineLockFolder() {
  const char* const given = std::getenv("EMPLACE_LOCK_FOLDER");
  if (given != nullptr && *given != '\0') {
    if (fs::is_directory(given)) return given;
    throw BadInput(StrCat("EMPLACE_LOCK_FOLDER is '", given, "', expected a folder that is there"));
  }
  constexpr char kOfTheSystem[] = "/run/lock";
  return ::access(kOfTheSystem, W_OK | X_OK) == 0 ? kOfTheSystem : "/tmp";
}

MachineLock::MachineLock(const fs::path& folder)
    : gate_(Open(folder / "emplace-measuring.lock")), work_(Open(folder / "emplace-working.lock")) {}

bool MachineLock::OpenWindow(std::chrono::milliseconds patience, const StopSignal& stop) {
  if (!LockUntil(gate_.get(), LOCK_EX, Clock::now() + patience, stop)) return false;
  if (!LockUntil(work_.get(), LOCK_EX, Clock::now() + patience, stop) && stop.Now()) {
    Unlock(gate_.get());
    return false;
  }
  return true;
}

void MachineLock::CloseWindow() {
  Unlock(work_.get());
  Unlock(gate_.get());
}

std::chrono::nanoseconds MachineLock::BeginWork(std::chrono::milliseconds patience, const StopSignal& stop) {
  std::chrono::nanoseconds waited(0);
  if (!TryLock(gate_.get(), LOCK_SH)) {
    const Clock::time_point begin = Clock::now();
    LockUntil(gate_.get(), LOCK_SH, begin + patience, stop);
    waited = Clock::now() - begin;
  }
  // Held already only by a window that has been open for longer than our patience.
  TryLock(work_.get(), LOCK_SH);
  Unlock(gate_.get());
  return waited;
}

void MachineLock::EndWork() { Unlock(work_.get()); }

}  // namespace emplace
