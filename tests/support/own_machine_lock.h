// A machine lock (common/threads/machine_lock.h) of a test's own, while the object lives: what runs beside the test has
// others.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/error.h"
#include "tests/support/temp_folder.h"

namespace emplace {

// Made and destroyed while no other thread of the process reads the environment.
class OwnMachineLock {
 public:
  OwnMachineLock() { ::setenv("EMPLACE_LOCK_FOLDER", folder_.path().c_str(), 1); }
  ~OwnMachineLock() { ::unsetenv("EMPLACE_LOCK_FOLDER"); }
  OwnMachineLock(const OwnMachineLock&) = delete;
  OwnMachineLock& operator=(const OwnMachineLock&) = delete;

  // Whether a unit of work holds windows off now.
  bool WorkIsUnderWay() const {
    const int file = ::open((folder_.path() / "emplace-working.lock").c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
    EMPLACE_CHECK(file >= 0);
    const bool held = ::flock(file, LOCK_EX | LOCK_NB) != 0;
    ::close(file);  // With its lock.
    return held;
  }

 private:
  TempFolder folder_;
};

}  // namespace emplace
