// The other ranks of a run, as rank 0 has them: their keys, their connections, and their processes where rank 0 starts
// them itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/threads/pausing_work.h"
#include "learner/ranks/pausing_collective.h"
#include "learner/ranks/rank_leader.h"
#include "learner/ranks/rank_processes.h"
#include "learner/ranks/rank_state.h"
#include "learner/storage/run_directory.h"
#include "policy/config/run_config.h"
#include "simulator/task/placement_task.h"

namespace emplace {

class RankGroup {
 public:
  // Makes new keys in the run directory and listens. With `started_elsewhere`, somebody else starts the ranks, and they
  // reach rank 0 as actors reach it (section network); else this starts them on this machine. while_waiting() is called
  // several times a second while an update waits for other ranks. updating: the work that updates are; the others' work
  // pauses when it does. REQUIRES: training.ranks >= 2; the thread that calls this, and `updating`, outlive the group.
  RankGroup(const RunConfig& config, const RunDirectory& dir, bool started_elsewhere,
            std::function<void()> while_waiting, PausingWork& updating);

  RankLeader& leader() { return leader_; }
  // By which this rank exchanges gradients with the others: the leader, or NCCL where each rank has a GPU.
  Collective& collective() { return *collective_; }
  // Where ranks that somebody else starts reach this one; empty where this has started them.
  std::string address_for_others() const { return processes_ ? "" : leader_.address(); }

  // Waits until all ranks are there, and gives them the run and this state. Throws RunFailed when one does not come,
  // and when `interrupted` is set before.
  void Admit(const RunConfig& config, const std::vector<PlacementTask>& tasks, RankState state,
             const std::atomic<bool>& interrupted);
  // Tells the ranks that the run is over, and waits a while for those that this has started.
  void Stop();

 private:
  RankLeader leader_;
  std::vector<uint8_t> nccl_id_;         // Empty: NCCL is not used.
  std::unique_ptr<Collective> by_nccl_;  // Where it is.
  std::optional<PausingCollective> collective_;
  std::optional<RankProcesses> processes_;  // After the leader: they die before it does.
};

}  // namespace emplace
