#include "api/evaluation/evaluation.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "common/error_place.h"
#include "common/files/content_hash.h"
#include "common/files/file_io.h"
#include "common/threads/mutex.h"
#include "common/threads/thread_team.h"
#include "simulator/graph/graph_io.h"
#include "simulator/methods/fallback.h"
#include "simulator/methods/lists/disciplines.h"

namespace emplace {
namespace {

// A graph ready to be placed.
struct TaskOfFile {
  PlacementTask task;
  std::string hash;  // ContentHash of the file's text.
};

// It is made by the first run that needs it and let go with the last.
class SharedTask {
 public:
  std::shared_ptr<const TaskOfFile> Get(const EvaluationPlan& plan, const std::string& path) {
    const MutexLock lock(mu_);
    if (!task_) {
      const std::string text = ReadMaybeCompressedFile(path);
      const OpGraph graph = ParseGraph(text, path);
      PlacementTask task = WithPlace(path, [&] {
        CheckKinds(graph, plan.cluster);
        return PlacementTask::Make(graph, plan.cluster, plan.max_groups, plan.options.stop);
      });
      task_ = std::make_shared<const TaskOfFile>(TaskOfFile{std::move(task), ContentHash(text)});
      task_->task.levels->All(plan.options.stop);  // The first run does not take longer than the others.
    }
    std::shared_ptr<const TaskOfFile> task = task_;
    if (--runs_left_ == 0) task_ = nullptr;
    return task;
  }
  void ExpectRun() {
    const MutexLock lock(mu_);
    ++runs_left_;
  }

 private:
  Mutex mu_;
  std::shared_ptr<const TaskOfFile> task_ EMPLACE_GUARDED_BY(mu_);
  int64_t runs_left_ EMPLACE_GUARDED_BY(mu_) = 0;
};

RunResult RunOne(const EvaluationPlan& plan, const RunKey& key, const TaskOfFile& of_file) {
  const PlacementTask& task = of_file.task;
  const std::unique_ptr<PlacementMethod> method = plan.Method(key.method, key.seed);
  const auto begin = std::chrono::steady_clock::now();
  MethodResult placed = method->Place(task);
  const std::string& order = plan.options.order;
  if (!order.empty()) SetOrder(order, task, placed);
  RunResult result;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.key = key;
  result.graph = task.name;
  result.graph_hash = of_file.hash;
  result.score = Score(task, placed);
  const Objective objective = plan.options.objective;
  const std::optional<ChosenPlacement> chosen = MethodOrSingleDevice(task, placed, result.score, order, objective);
  result.placed_us = chosen ? chosen->score.Us(objective) : std::numeric_limits<double>::infinity();
  result.placed_feasible = chosen && chosen->score.feasible;
  result.evaluations = placed.evaluations;
  result.single_device_us = task.single_device_us;
  return result;
}

}  // namespace

std::unique_ptr<PlacementMethod> EvaluationPlan::Method(const std::string& name, uint64_t seed) const {
  MethodOptions of_run = options;
  of_run.seed = seed;
  if (!CanMinimize(name, options.objective)) of_run.objective = Objective::kLatency;
  return MakeMethod(name, of_run);
}

std::vector<RunKey> EvaluationPlan::Keys() const {
  std::vector<std::pair<std::string, uint64_t>> runs_of_graph;  // Method and seed.
  for (const std::string& method : methods) {
    const bool draws = Method(method, /*seed=*/1)->draws();
    for (const uint64_t seed : seeds) {
      runs_of_graph.emplace_back(method, seed);
      if (!draws) break;
    }
  }
  std::vector<RunKey> keys;
  for (const std::filesystem::path& path : graphs) {
    for (const auto& [method, seed] : runs_of_graph) keys.push_back({path.string(), method, seed});
  }
  return keys;
}

void RunEvaluation(const EvaluationPlan& plan, const std::vector<RunKey>& keys, int jobs,
                   const std::function<void(const RunResult&)>& done, const std::atomic<bool>& stop) {
  std::map<std::string, SharedTask> tasks;
  for (const RunKey& key : keys) tasks[key.path].ExpectRun();
  Mutex mu;  // Held while `done` is called.
  ThreadTeam(jobs).ForEach(keys.size(), [&](size_t /*thread*/, size_t i) {
    if (stop) return;
    try {
      const RunResult result = RunOne(plan, keys[i], *tasks.at(keys[i].path).Get(plan, keys[i].path));
      if (stop) return;  // It may have been told to stop before it was done.
      const MutexLock lock(mu);
      done(result);
    } catch (const Stopped&) {  // It has no result.
    }
  });
}

}  // namespace emplace
