#include "learner/actors/connection_limit.h"

#include <utility>

#include "common/files/open_files.h"
#include "common/log.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr int64_t kConnectionsOfAnActor = 2;  // Control, trajectories.
constexpr int64_t kOtherFiles = 100;          // What a learner has open besides, and handshakes under way.
constexpr std::chrono::seconds kConnectionCheckEvery(5);

}  // namespace

int64_t ActorCapacity() { return (OpenFileLimit() - kOtherFiles) / kConnectionsOfAnActor; }

std::string ConnectionLimit::RefuseOneMore(int64_t alive, int64_t capacity) {
  if (!std::exchange(warned_of_room_, true)) {
    LogWarning(StrCat(alive, " actors are here, and the limit of ", OpenFileLimit(),
                      " open files leaves no room for more: raise it (ulimit -n) to ", kConnectionsOfAnActor,
                      " for each actor and ", kOtherFiles, " besides"));
  }
  return StrCat("the learner may have ", OpenFileLimit(), " files open, which leaves no room for more than ", capacity,
                " actors; raise that limit (ulimit -n) on the learner's machine");
}

void ConnectionLimit::Check(int64_t alive, std::chrono::steady_clock::time_point now) {
  if (now < next_check_) return;
  next_check_ = now + kConnectionCheckEvery;
  const int64_t limit = OpenFileLimit();
  const int64_t open = CountOpenFiles().value_or(limit);
  if (open < limit - kConnectionsOfAnActor) return;
  connection_warnings_.Warn(StrCat("as many connections are open as the limit of ", limit, " open files allows, with ",
                                   alive, " actors here: no actor can join meanwhile"));
}

}  // namespace emplace
