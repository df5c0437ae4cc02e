// A lock over this computer, by which a measurement on real devices has it to itself: while the window of a measurement
// is open, other work that takes part pauses. Processes of all users and runs on the computer share it.
//
// Work that takes part is done in units, such as an update of the policy. A window opens when the units under way have
// ended, and no unit begins until it closes. Two files in a folder of the system carry the lock, by flock: the gate,
// which a window holds while it waits and while it is open, and which a unit passes; and the work, which a unit holds,
// and a window alone. The kernel gives up the locks of a process that ends, however it ends. All waits are bounded, so
// that a process that stands still holds nobody up for good.
#pragma once

#include <chrono>
#include <filesystem>

#include "common/files/file_descriptor.h"
#include "common/threads/stop.h"

namespace emplace {

// The folder that EMPLACE_LOCK_FOLDER names, or /run/lock where it is there and can be written to, or /tmp. Throws
// BadInput for a variable that names no folder.
std::filesystem::path MachineLockFolder();

// The two files, opened. An object is for one thread at a time; the locks of two objects exclude each other, also in
// one process.
class MachineLock {
 public:
  // Opens the files, and makes those that are not there. Throws RunFailed, which names the file.
  explicit MachineLock(const std::filesystem::path& folder = MachineLockFolder());

  // Opens a window: waits at most `patience` for other windows to close, and again for the units under way to end.
  // Returns false where another window is open still, or `stop` ends the waiting; then this one is not. Units that have
  // not ended go on beside it.
  bool OpenWindow(std::chrono::milliseconds patience, const StopSignal& stop = {});
  void CloseWindow();

  // Begins a unit of work, once no window is open; waits for that at most `patience`, or until `stop` ends the waiting,
  // and begins it then anyway. Returns how long it waited.
  std::chrono::nanoseconds BeginWork(std::chrono::milliseconds patience, const StopSignal& stop = {});
  void EndWork();

 private:
  FileDescriptor gate_;
  FileDescriptor work_;
};

}  // namespace emplace
