#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>

#include "api/evaluation/evaluation.h"
#include "api/evaluation/results_file.h"
#include "api/evaluation/summary.h"
#include "api/place_graph.h"
#include "api/placing_wishes.h"
#include "api/run_files.h"
#include "api/task_inputs.h"
#include "common/command_line.h"
#include "common/error.h"
#include "common/files/content_hash.h"
#include "common/files/file_io.h"
#include "common/files/json_text.h"
#include "common/files/output_files.h"
#include "common/strings.h"
#include "common/threads/interrupt.h"
#include "policy/policy_weights.h"
#include "tools/cli/commands.h"
#include "tools/cli/placing_options.h"
#include "tools/cli/progress_bar.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kSaveEvery(2);

constexpr int64_t kDefaultBudget = 100;

struct EvaluateArguments {
  std::vector<std::string> graphs;
  std::string split;
  std::string devices;
  std::string policy;
  std::string methods = "single,random,policy";
  PlacingWishes wishes;  // Its threads are the jobs.
  std::vector<uint64_t> seeds;
  std::string out;
  bool resume = false;
  bool json = false;
};

// What came twice would count twice in means, wins and intervals.
template <typename Value>
void CheckOnce(const std::string& option, const std::string& what, const std::vector<Value>& values) {
  std::set<Value> seen;
  for (const Value& value : values) {
    if (!seen.insert(value).second)
      throw BadInput(StrCat(option, " names ", what, " '", value, "' twice, expected each once"));
  }
}

// A graph is the same under whatever name, such as ./x and x.
void CheckGraphsOnce(const std::vector<std::filesystem::path>& graphs) {
  std::map<std::filesystem::path, std::string> given;
  for (const std::filesystem::path& graph : graphs) {
    const auto [first, is_new] = given.emplace(std::filesystem::weakly_canonical(graph), graph.string());
    if (is_new) continue;
    const std::string also = first->second == graph.string() ? "" : StrCat(", also as '", first->second, "'");
    throw BadInput(StrCat("--graphs names graph '", graph.string(), "' twice", also, ", expected each once"));
  }
}

EvaluationPlan MakePlan(const EvaluateArguments& args) {
  EvaluationPlan plan;
  plan.methods = Split(args.methods, ',');
  CheckOnce("--methods", "method", plan.methods);
  CheckOnce("--seeds", "seed", args.seeds);
  plan.seeds = args.seeds.empty() ? std::vector<uint64_t>{args.wishes.seed} : args.seeds;
  plan.options = OptionsOf(args.wishes, plan.methods);
  if (!(plan.options.seconds > 0)) {
    plan.options.threads = 1;
    if (plan.options.budget == 0) plan.options.budget = kDefaultBudget;
  }
  plan.options.stop = &Interrupted();
  const std::optional<PolicyWeights> policy = PolicyAsked(args.policy);
  plan.cluster = LoadCluster(args.devices);
  if (policy) {
    UsePolicyOn(plan.cluster, args.devices, *policy, args.policy, plan.options);
    plan.policy_version = policy->version;
    plan.policy_hash = ContentHash(SerializePolicy(*policy));
  }
  plan.max_groups = MaxGroups(args.wishes.max_groups, policy ? &*policy : nullptr);
  plan.graphs = FindGraphs(args.graphs, args.split);
  if (plan.graphs.empty()) {
    throw BadInput(StrCat("--graphs ", Join(args.graphs, ", "), ": has no ", args.split, " graphs, expected some that ",
                          "a split.json names"));
  }
  CheckGraphsOnce(plan.graphs);
  return plan;
}

void CheckEvaluateFiles(const EvaluateArguments& args, const EvaluationPlan& plan) {
  std::vector<FileArgument> inputs = InputFiles("--policy", args.policy);
  inputs.push_back({"--devices", args.devices});
  for (const std::filesystem::path& graph : plan.graphs) inputs.push_back({"--graphs", graph});
  for (const std::filesystem::path folder : args.graphs) inputs.push_back({"--graphs", folder / "split.json"});
  CheckOutputFiles({{"--out", args.out}}, inputs);
}

// All results so far, in the order of the plan.
class Results {
 public:
  Results(const EvaluateArguments& args, const EvaluationPlan& plan)
      : out_(args.out),
        keys_(plan.Keys()),
        methods_(plan.methods),
        objective_(plan.options.objective),
        settings_(SettingsOf(plan, args.policy)) {
    if (!args.resume) return;
    if (out_.empty()) throw BadInput("--resume needs --out, the results to go on with");
    const std::set<RunKey> asked(keys_.begin(), keys_.end());
    for (RunResult& result : LoadResults(out_, settings_)) {
      if (!asked.contains(result.key)) {
        throw BadInput(StrCat(out_, ": has a result of method '", result.key.method, "' with seed ", result.key.seed,
                              " on '", result.key.path, "', which is not asked for; expected a file of these graphs, ",
                              "methods and seeds, of which it may lack some"));
      }
      by_key_[result.key] = std::move(result);
    }
  }

  std::vector<RunKey> Missing() const {
    std::vector<RunKey> missing;
    std::copy_if(keys_.begin(), keys_.end(), std::back_inserter(missing),
                 [&](const RunKey& key) { return !by_key_.contains(key); });
    return missing;
  }
  void Add(const RunResult& result) {
    by_key_[result.key] = result;
    has_new_ = true;
    if (!saved_ || Clock::now() - *saved_ >= kSaveEvery) Save();
  }
  // Does nothing where there is nothing new: a file of before stays as it is.
  void Save() {
    if (has_new_ && !out_.empty()) WriteFileAtomically(out_, JsonLine(Document()) + "\n");
    has_new_ = false;
    saved_ = Clock::now();
  }
  bool HasSome() const { return !by_key_.empty(); }

  std::vector<RunResult> List() const {
    std::vector<RunResult> list;
    for (const RunKey& key : keys_) {
      if (const auto found = by_key_.find(key); found != by_key_.end()) list.push_back(found->second);
    }
    return list;
  }
  std::vector<MethodSummary> Summaries() const { return Summarize(List(), methods_, objective_); }
  nlohmann::ordered_json Document() const { return ToDocument(List(), Summaries(), settings_); }

 private:
  const std::string out_;  // Empty: kept nowhere.
  const std::vector<RunKey> keys_;
  const std::vector<std::string> methods_;
  const Objective objective_;
  const nlohmann::ordered_json settings_;
  std::map<RunKey, RunResult> by_key_;
  bool has_new_ = false;                    // Since the last Save.
  std::optional<Clock::time_point> saved_;  // None: nothing is written yet.
};

// "-" where there is no ratio: no device may run every op, or the graph takes no time.
std::string RatioOrDash(double ratio) { return std::isfinite(ratio) && ratio > 0 ? Format("%.3f", ratio) : "-"; }

void PrintTable(const std::vector<RunResult>& results, const std::vector<MethodSummary>& summaries, Objective objective,
                bool several_seeds) {
  size_t graph_width = 5;
  for (const RunResult& result : results) graph_width = std::max(graph_width, result.graph.size());
  const int width = static_cast<int>(graph_width);
  std::printf("%-*s  %-13s %5s %13s %12s %6s %12s %10s\n", width, "graph", "method", "seed",
              objective == Objective::kLatency ? "makespan ms" : "max load ms", "/ 1 device", "fits", "evaluations",
              "time");
  for (const RunResult& result : results) {
    std::printf(
        "%-*s  %-13s %5llu %13.3f %12s %6s %12lld %10s\n", width, result.graph.c_str(), result.key.method.c_str(),
        static_cast<unsigned long long>(result.key.seed), result.score.Us(objective) / 1e3,
        RatioOrDash(result.score.Us(objective) / result.single_device_us).c_str(), result.score.feasible ? "yes" : "no",
        static_cast<long long>(result.evaluations), ShownSeconds(result.seconds).c_str());
  }
  std::printf("\n%-13s %7s %6s %9s %5s %26s%s %12s %10s\n", "method", "graphs", "runs", "feasible", "wins",
              "geometric mean / 1 device", several_seeds ? "    95% interval" : "", "evaluations", "time");
  for (const MethodSummary& summary : summaries) {
    std::printf("%-13s %7lld %6lld %9lld %5lld %26s", summary.method.c_str(), static_cast<long long>(summary.graphs),
                static_cast<long long>(summary.runs), static_cast<long long>(summary.feasible),
                static_cast<long long>(summary.wins), RatioOrDash(summary.ratio.mean).c_str());
    if (several_seeds) std::printf("  %6.3f..%-6.3f", summary.ratio.low, summary.ratio.high);
    std::printf(" %12lld %10s\n", static_cast<long long>(summary.evaluations), ShownSeconds(summary.seconds).c_str());
  }
  std::printf("\nLower is better; 'wins' counts the graphs on which no other method of this table is faster.\n");
  const auto with_fallback = [](const MethodSummary& summary) { return summary.method == kPolicyOrSingle; };
  if (std::any_of(summaries.begin(), summaries.end(), with_fallback)) {
    std::printf("'%s' is what `emplace place` hands out: the policy's placement, or one device where that is better.\n",
                kPolicyOrSingle);
  }
}

int Evaluate(const EvaluateArguments& args) {
  const EvaluationPlan plan = MakePlan(args);
  CheckEvaluateFiles(args, plan);
  Results results(args, plan);
  const std::vector<RunKey> missing = results.Missing();
  // With a time, every run has the machine for itself: runs side by side would take it from each other.
  const bool timed = args.wishes.seconds > 0;
  const int jobs = timed ? 1 : Threads(args.wishes.threads);
  try {
    ProgressBar bar(std::ssize(missing));
    RunEvaluation(
        plan, missing, jobs,
        [&](const RunResult& result) {
          results.Add(result);
          bar.Advance(result.graph + " " + result.key.method);
        },
        Interrupted());
  } catch (...) {
    results.Save();  // What the other runs have found is not lost with the one that failed.
    throw;
  }
  FinishDespiteInterrupt();
  results.Save();
  if (const size_t left = results.Missing().size(); left > 0) {
    throw RunFailed(
        StrCat("interrupted with ", left, " of ", plan.Keys().size(), " runs to go",
               args.out.empty() || !results.HasSome() ? "" : StrCat("; --out ", args.out, " --resume goes on")));
  }
  if (args.json) {
    std::printf("%s\n", JsonLine(results.Document()).c_str());
  } else {
    PrintTable(results.List(), results.Summaries(), plan.options.objective, plan.seeds.size() > 1);
  }
  return 0;
}

}  // namespace

void AddEvaluateCommand(CLI::App& app, std::function<int()>& run) {
  auto args = std::make_shared<EvaluateArguments>();
  CLI::App* command = app.add_subcommand("evaluate", "Compare placement methods on graphs");
  command->add_option("--graphs", args->graphs, "Graph files, or folders that hold graph files; may be repeated")
      ->required();
  command
      ->add_option("--split", args->split,
                   "Take from each folder only the training or the test graphs that its split.json names")
      ->check(CLI::IsMember({"train", "test"}));
  command->add_option("--devices", args->devices, "Cluster file, YAML: the machine on which graphs are placed")
      ->required();
  command->add_option(
      "--policy", args->policy,
      "Policy file, *.safetensors, or a run directory, whose best policy so far is used; none: no policy "
      "(default: the trained planner that comes with the programs, for methods auto, list and policy)");
  command
      ->add_option("--methods", args->methods,
                   "Methods to compare, separated by commas, each one of: " + Join(MethodNames(), ", "))
      ->capture_default_str();
  AddPlacingOptions(*command, args->wishes);
  command
      ->add_option(
          "--seconds", args->wishes.seconds,
          "Seconds that each searching method may take for a graph; runs then come one after the other, each on all "
          "cores")
      ->check(NumberIn(1e-6, 1e6));
  command
      ->add_option(
          "--budget", args->wishes.budget,
          "Number of placements that a searching method may simulate (default: 100, or any number with --seconds)")
      ->check(CLI::Range(1, 1000000000));
  CLI::Option* const seed = command->add_option("--seed", args->wishes.seed, "Random seed of the methods")
                                ->check(Seed())
                                ->capture_default_str();
  command
      ->add_option("--seeds", args->seeds,
                   "Several random seeds, such as 1,2,3; the table then has confidence intervals")
      ->delimiter(',')
      ->check(Seed())
      ->excludes(seed);
  command
      ->add_option(
          "--jobs", args->wishes.threads,
          "Number of runs at the same time, or with --seconds the threads of a run (default: one for each core)")
      ->check(CLI::Range(1, kMostThreads));
  command->add_option("--out", args->out, "JSON file to which results are written while the evaluation goes on")
      ->check(NotEmpty());
  command->add_flag("--resume", args->resume, "Leave out the runs whose results are in --out already");
  command->add_flag("--json", args->json, "Print the results as one JSON document");
  command->callback([args, &run] { run = [args] { return Evaluate(*args); }; });
}

}  // namespace emplace
