#include "actor/hardware/commands/measuring_command.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "actor/hardware/commands/commands.h"
#include "actor/hardware/executor.h"
#include "actor/hardware/measuring/message_channel.h"
#include "actor/hardware/measuring/part_times.h"
#include "actor/hardware/measuring/replayed_step.h"
#include "actor/hardware/measuring/step_messages.h"
#include "actor/hardware/program/step_program.h"
#include "actor/hardware/step_timer.h"
#include "common/error.h"
#include "common/files/json_text.h"
#include "common/strings.h"
#include "simulator/graph/graph_io.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

// Graphs whose references are kept, with their tensors.
constexpr size_t kMostReferences = 8;

// Whatever the actor's end is, and before the learner or another process if memory runs out.
void LiveNoLongerThanTheActor() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  const rlimit none{};
  ::setrlimit(RLIMIT_CORE, &none);
}

// Runs a step and says that it has ended: nobody waits to hear it, which could take a core from the next step.
const StepTimes& RunStep(Executor& executor) {
  const StepTimes& times = executor.Step();
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, ".", 1);  // What has no room is not missed.
  return times;
}

class Measuring {
 public:
  explicit Measuring(const Json& setup)
      : machine_(ParseClusterWithoutFiles(setup.at("machine").get<std::string>(), "machine")),
        times_parts_(setup.at("times_parts").get<bool>()) {
    setup.at("references").get_to(references_);
    for (const Json& graph : setup.at("graphs")) graphs_.push_back(ParseGraph(graph.get<std::string>(), "graph"));
    EMPLACE_CHECK(references_.size() == graphs_.size());
    const std::set<Processor> processors = ProcessorsHere(machine_);  // Throws for devices that are not here.
    has_gpu_ = processors.contains(Processor::kGpu);
    for (const OpGraph& graph : graphs_) CheckOps(graph, processors);
  }

  void MakeReference(size_t graph) {
    const auto known = std::ranges::find_if(made_, [graph](const Reference& made) { return made.graph == graph; });
    if (known != made_.end()) {
      made_.splice(made_.begin(), made_, known);
      return;
    }
    placement_.reset();
    const OpGraph& of = graphs_.at(graph);
    const Placement all(static_cast<size_t>(of.num_ops()), references_.at(graph));
    made_.push_front({graph, MakeAndRunOnce(of, {.placement = all, .orders = {}})});
    if (made_.size() > kMostReferences) made_.pop_back();
  }

  // REQUIRES: MakeReference was called for this graph last.
  void Prepare(size_t graph, const OrderedPlacement& placement) {
    EMPLACE_CHECK(!made_.empty() && made_.front().graph == graph);
    placement_.reset();  // First: two placements' tensors need not be in memory together.
    placement_ = MakeAndRunOnce(graphs_[graph], placement);
  }

  // REQUIRES: Prepare was called, and has not thrown.
  StepSamples Time(const StepPlan& plan) {
    EMPLACE_CHECK(placement_ != nullptr && plan.steps >= 2);
    begin_ = Clock::now();
    window_s_ = plan.window_s;
    Executor& reference = *made_.front().executor;
    Series of_reference(reference);
    Series of_placement(*placement_);
    const int64_t first = (plan.steps + 1) / 2;
    Time(of_reference, plan.warmup, first, 0.25);
    Time(of_placement, plan.warmup, plan.steps, 0.75);
    if (!IsOver(0.75)) Time(of_reference, plan.warmup, plan.steps - first, 1);
    return {.reference = Finished(of_reference), .placement = Finished(of_placement)};
  }

 private:
  struct Reference {
    size_t graph = 0;
    std::unique_ptr<Executor> executor;
  };

  // The steps of a placement that are timed, and what they have come to so far.
  struct Series {
    explicit Series(Executor& of) : executor(of), parts(of.program()) {}
    Executor& executor;
    StepSeries steps = {};
    PartMeasurements parts;
  };

  // Whatever the placement: so that a graph of which some op cannot be run on any of these is refused before any
  // episode is played.
  static void CheckOps(const OpGraph& graph, const std::set<Processor>& processors) {
    for (const Op& op : graph.ops()) {
      std::string why;
      const bool can = std::ranges::any_of(processors, [&](Processor processor) {
        why = WhyItCannotRun(op, processor);
        return why.empty();
      });
      if (!can) throw BadInput(StrCat("graph '", graph.name(), "': ", why));
    }
  }

  std::unique_ptr<Executor> MakeAndRunOnce(const OpGraph& graph, const OrderedPlacement& placement) const {
    CheckPlacement(graph, machine_, placement.placement);
    CheckOrders(graph, machine_, placement.placement, placement.orders);
    auto executor = std::make_unique<Executor>(graph, machine_, placement, ExecutorOptions{.gpu_times = times_parts_});
    RunStep(*executor);
    return executor;
  }

  bool IsOver(double share) const {
    return std::chrono::duration<double>(Clock::now() - begin_).count() >= share * window_s_;
  }

  // Runs steps until there are enough or this share of the window is over, but one at least.
  void Time(Series& series, int64_t warmup, int64_t steps, double share) const {
    for (int64_t step = 0; step < warmup && !IsOver(share); ++step) RunStep(series.executor);
    for (int64_t step = 0; step < steps && (step == 0 || !IsOver(share)); ++step) {
      const StepTimes& times = RunStep(series.executor);
      series.steps.us.push_back(times.step_us);
      series.steps.preemptions.push_back(times.preemptions);
      if (times_parts_) series.parts.Add(times);
    }
  }

  StepSeries Finished(const Series& series) const {
    StepSeries steps = series.steps;
    if (!times_parts_) return steps;
    steps.parts = series.parts.Medians();
    if (!has_gpu_) {
      steps.replayed_us =
          ReplayedStepUs(series.executor.program(), steps.parts.op_us, series.parts.steps().MedianCopyUs());
    }
    return steps;
  }

  const Cluster machine_;
  const bool times_parts_;
  bool has_gpu_ = false;
  std::vector<DeviceIndex> references_;
  std::vector<OpGraph> graphs_;
  std::list<Reference> made_;  // The latest first.
  std::unique_ptr<Executor> placement_;
  Clock::time_point begin_;
  double window_s_ = 0;
};

Json Answer(Measuring& measuring, const Json& request) {
  if (request.contains("reference")) {
    measuring.MakeReference(request.at("reference").get<size_t>());
    return Json::object();
  }
  if (request.contains("prepare")) {
    measuring.Prepare(request.at("prepare").get<size_t>(), {.placement = request.at("ops").get<Placement>(),
                                                            .orders = request.at("orders").get<DeviceOrders>()});
    return Json::object();
  }
  const StepSamples samples = measuring.Time({.warmup = request.at("warmup").get<int64_t>(),
                                              .steps = request.at("steps").get<int64_t>(),
                                              .window_s = request.at("window_s").get<double>()});
  return {{"reference", StepSeriesToJson(samples.reference)}, {"placement", StepSeriesToJson(samples.placement)}};
}

int Run() {
  LiveNoLongerThanTheActor();
  MessageChannel channel{FileDescriptor(STDIN_FILENO)};
  std::unique_ptr<Measuring> measuring;
  std::string message;
  while (channel.Receive(message) == MessageChannel::Result::kDone) {
    const Json request = ParseJson(message, "request");
    // What fails here fails for every placement: the setup, and the reference.
    const bool for_all = measuring == nullptr || request.contains("reference");
    Json answer = Json::object();
    try {
      if (measuring == nullptr) {
        measuring = std::make_unique<Measuring>(request);
      } else {
        answer = Answer(*measuring, request);
      }
    } catch (const Error& error) {
      answer = {{for_all ? "bad_input" : "failed", error.what()}};
    } catch (const std::exception& error) {  // Such as bad_alloc: what memory there is may be more next time.
      answer = {{"failed", error.what()}};
    }
    if (channel.Send(answer.dump(-1, ' ', false, Json::error_handler_t::replace)) != MessageChannel::Result::kDone)
      break;
  }
  return 0;
}

}  // namespace

std::vector<std::string> MeasureCommandLine() {
  return {std::filesystem::read_symlink("/proc/self/exe").string(), "measure"};
}

void AddMeasureCommand(CLI::App& app, std::function<int()>& run) {
  CLI::App* const command = app.add_subcommand("measure", "Runs and times steps for an actor, which starts this");
  command->group("");  // Not in the help: it is no command for people.
  command->callback([&run] { run = [] { return Run(); }; });
}

}  // namespace emplace
