#include "learner/storage/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/log.h"
#include "common/strings.h"

namespace emplace {

namespace fs = std::filesystem;

RunDirectory::RunDirectory(fs::path folder, bool resume, std::chrono::milliseconds patience,
                           const std::atomic<bool>& interrupted)
    : folder_(std::move(folder)) {
  if (resume && !HoldsRun()) throw BadInput(StrCat(folder_.string(), ": holds no run, expected one to resume"));
  std::error_code error;
  made_ = !fs::exists(folder_);
  fs::create_directories(log().parent_path(), error);
  if (error) throw BadInput(StrCat(folder_.string(), ": cannot be made: ", error.message()));
  Lock(resume, patience, interrupted);
  fs::remove(learner_file(), error);  // Of an earlier learner, where actors would look for this one.
  for (const fs::path& written : {folder_, graphs(), placements(), checkpoints() / "best"}) RemoveHalfWritten(written);
}

RunDirectory::~RunDirectory() {
  std::error_code ignored;
  if (made_ && !HoldsRun()) fs::remove_all(folder_, ignored);
}

// The logs folder may be the launcher's.
bool RunDirectory::HoldsRun() const { return fs::exists(config()) || fs::exists(checkpoints()); }

void RunDirectory::CheckHoldsNoRun() const {
  if (!HoldsRun()) return;
  throw BadInput(
      StrCat(folder_.string(), ": holds a run already, expected another --dir, or --resume to go on with it"));
}

void RunDirectory::Lock(bool resume, std::chrono::milliseconds patience, const std::atomic<bool>& interrupted) {
  const std::string path = (folder_ / "lock").string();
  lock_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (lock_.get() < 0) throw BadInput(StrCat(path, ": cannot be written: ", std::strerror(errno)));
  const auto deadline = std::chrono::steady_clock::now() + patience;
  bool said = false;
  while (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      // Some network file systems have no locks; training there is better than not training.
      LogWarning(StrCat(path, ": cannot be locked: ", std::strerror(errno)));
      break;
    }
    if (!resume) CheckHoldsNoRun();
    if (interrupted || std::chrono::steady_clock::now() >= deadline)
      throw BadInput(StrCat(folder_.string(), ": another learner works there, expected it to have ended"));
    if (!said) LogInfo(StrCat(folder_.string(), ": waiting for the learner that still works there"));
    said = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (!resume) CheckHoldsNoRun();  // The learner before may have begun a run and ended it meanwhile.
}

void RunDirectory::WriteLearnerFile(const std::string& address, uint64_t session,
                                    const std::string& ranks_address) const {
  nlohmann::ordered_json file = {{"address", address}, {"pid", ::getpid()}, {"session", std::to_string(session)}};
  if (!ranks_address.empty()) file["ranks_address"] = ranks_address;
  WriteFileAtomically(learner_file(), file.dump() + "\n");
}

}  // namespace emplace
