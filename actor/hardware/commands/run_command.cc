#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "actor/hardware/commands/commands.h"
#include "actor/hardware/commands/step_options.h"
#include "actor/hardware/executor.h"
#include "actor/hardware/measuring/measured_timeline.h"
#include "actor/hardware/measuring/measurement.h"
#include "actor/hardware/measuring/replayed_step.h"
#include "common/command_line.h"
#include "common/files/file_io.h"
#include "common/files/json_text.h"
#include "common/files/output_files.h"
#include "common/strings.h"
#include "simulator/engine/trace_writer.h"
#include "simulator/graph/graph_io.h"

namespace emplace {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct RunArguments {
  std::string graph;
  std::string devices;
  std::string placement;
  int32_t steps = 20;
  int32_t warmup = 3;
  bool by_op = false;
  bool by_link = false;
  bool json = false;
  std::string trace;
  LinkThrottle throttle;
};

// The tensors that a device sends in a step, and how long they travel.
struct LinkUse {
  int64_t copies = 0;
  int64_t bytes = 0;
  double measured_us = 0;   // Sum over the copies, of the time that the reading device copies.
  double predicted_us = 0;  // Sum over the simulated transfers.
};

// A placed graph, made ready to run.
struct PlacedRun {
  const OpGraph& graph;
  const Cluster& cluster;
  const Placement& placement;
  Executor& executor;
};

// What the timed steps came to.
struct TimedSteps {
  StepStatistics steps;
  std::optional<StepStatistics> undisturbed;  // Those during which no other program took a device's core, if any.
  // Where all devices are of the CPU: the step without other programs (replayed_step.h).
  std::optional<double> replayed_us;
  std::vector<int64_t> peak_bytes;  // [D]
  std::vector<double> op_us;        // [n] median of each op; NaN for one that did not run.
  std::vector<LinkUse> links;       // [D] by the device that sends.
};

// copy_us: [values] medians.
std::vector<LinkUse> UseOfLinks(const PlacedRun& placed, const std::vector<double>& copy_us) {
  std::vector<LinkUse> links(static_cast<size_t>(placed.cluster.num_devices()));
  for (size_t value = 0; value < copy_us.size(); ++value) {
    const StepValue& about = placed.executor.program().values[value];
    if (about.source == StepValue::kNone) continue;
    LinkUse& link = links[static_cast<size_t>(placed.placement[static_cast<size_t>(about.op)])];
    ++link.copies;
    link.bytes += placed.graph.op(about.op).outputs[static_cast<size_t>(about.output)].bytes;
    link.measured_us += copy_us[value];
  }
  for (const Transfer& transfer : placed.executor.predicted().transfers) {
    links[static_cast<size_t>(transfer.from)].predicted_us += transfer.delivered_us - transfer.start_us;
  }
  return links;
}

double PredictedUs(const Timeline& timeline, size_t op) { return timeline.finish_us[op] - timeline.start_us[op]; }

OrderedJson OpsToJson(const PlacedRun& placed, const std::vector<double>& op_us) {
  OrderedJson ops = OrderedJson::array();
  for (size_t op = 0; op < op_us.size(); ++op) {
    if (std::isnan(op_us[op])) continue;
    ops.push_back({{"name", placed.graph.ops()[op].name},
                   {"type", placed.graph.ops()[op].type},
                   {"device", placed.cluster.devices[static_cast<size_t>(placed.placement[op])].name},
                   {"measured_us", op_us[op]},
                   {"predicted_us", PredictedUs(placed.executor.predicted(), op)}});
  }
  return ops;
}

OrderedJson LinksToJson(const Cluster& cluster, const std::vector<LinkUse>& links) {
  OrderedJson json = OrderedJson::array();
  for (size_t device = 0; device < links.size(); ++device) {
    json.push_back({{"from", cluster.devices[device].name},
                    {"copies", links[device].copies},
                    {"bytes", links[device].bytes},
                    {"measured_us", links[device].measured_us},
                    {"predicted_us", links[device].predicted_us}});
  }
  return json;
}

// The types of op, those first that take most time.
void PrintTypes(const PlacedRun& placed, const std::vector<double>& op_us) {
  struct TypeUse {
    int64_t ops = 0;
    double measured_us = 0;
    double predicted_us = 0;
  };
  std::map<std::string, TypeUse> by_type;
  for (size_t op = 0; op < op_us.size(); ++op) {
    if (std::isnan(op_us[op])) continue;
    TypeUse& use = by_type[placed.graph.ops()[op].type];
    ++use.ops;
    use.measured_us += op_us[op];
    use.predicted_us += PredictedUs(placed.executor.predicted(), op);
  }
  std::vector<std::pair<std::string, TypeUse>> types(by_type.begin(), by_type.end());
  std::stable_sort(types.begin(), types.end(),
                   [](const auto& a, const auto& b) { return a.second.measured_us > b.second.measured_us; });
  std::printf("\n%-44s %8s %14s %14s\n", "type", "ops", "measured, us", "predicted, us");
  for (const auto& [type, use] : types) {
    std::printf("%-44s %8lld %14.1f %14.1f\n", type.c_str(), static_cast<long long>(use.ops), use.measured_us,
                use.predicted_us);
  }
}

void PrintLinks(const Cluster& cluster, const std::vector<LinkUse>& links) {
  std::printf("\n%-12s %8s %12s %14s %14s\n", "sent by", "copies", "MB", "measured, us", "predicted, us");
  for (size_t device = 0; device < links.size(); ++device) {
    std::printf("%-12s %8lld %12.3f %14.1f %14.1f\n", cluster.devices[device].name.c_str(),
                static_cast<long long>(links[device].copies), static_cast<double>(links[device].bytes) / 1e6,
                links[device].measured_us, links[device].predicted_us);
  }
}

// Runs steps until one takes about as long as those that were timed, and writes it as a trace.
void WriteTrace(const std::string& path, const PlacedRun& placed, const StepStatistics& timed) {
  constexpr int32_t kMostTries = 50;
  const auto usual = [&](double us) { return us >= timed.lower_quartile_us && us <= timed.upper_quartile_us; };
  const StepTimes* step = &placed.executor.Step();
  for (int32_t tries = 1; tries < kMostTries && !usual(step->step_us); ++tries) step = &placed.executor.Step();
  const SimGraph sim = SimGraph::Compile(placed.graph, placed.cluster);
  WriteFileAtomically(path, TraceToJson(placed.graph, placed.cluster, sim, placed.placement,
                                        MeasuredTimeline(placed.graph, sim, placed.executor.program(), *step)));
}

TimedSteps TimeSteps(const RunArguments& args, const PlacedRun& placed) {
  Executor& executor = placed.executor;
  for (int32_t step = 0; step < args.warmup; ++step) executor.Step();
  StepMeasurements measurement;
  for (int32_t step = 0; step < args.steps; ++step) measurement.Add(executor.Step());
  const std::vector<double> copy_us = measurement.MedianCopyUs();
  TimedSteps timed = {.steps = measurement.Steps(),
                      .undisturbed = measurement.UndisturbedSteps(),
                      .replayed_us = std::nullopt,
                      .peak_bytes = executor.StepPeakBytes(),
                      .op_us = measurement.MedianOpUs(),
                      .links = UseOfLinks(placed, copy_us)};
  // A replay knows nothing of what GPUs do meanwhile, and nothing of an artificial link.
  const bool throttled = args.throttle.bandwidth_bytes_per_us > 0;
  if (!throttled && !ProcessorsHere(placed.cluster).contains(Processor::kGpu)) {
    timed.replayed_us = ReplayedStepUs(executor.program(), timed.op_us, copy_us);
  }
  return timed;
}

void PrintJson(const RunArguments& args, const PlacedRun& placed, const TimedSteps& timed) {
  const std::optional<StepStatistics>& undisturbed = timed.undisturbed;
  OrderedJson document = {{"graph", placed.graph.name()},
                          {"measured_us", timed.steps.median_us},
                          {"predicted_us", placed.executor.predicted().makespan_us},
                          {"spread_us", timed.steps.spread_us()},
                          {"steps", timed.steps.steps},
                          {"outliers", timed.steps.outliers},
                          {"undisturbed_steps", undisturbed ? undisturbed->steps : 0},
                          {"undisturbed_us", undisturbed ? OrderedJson(undisturbed->median_us) : OrderedJson()},
                          {"replayed_us", timed.replayed_us ? OrderedJson(*timed.replayed_us) : OrderedJson()},
                          {"ops_left_out", placed.executor.program().left_out.size()},
                          {"measured_peak_bytes", timed.peak_bytes},
                          {"predicted_peak_bytes", placed.executor.predicted().peak_bytes}};
  if (args.by_op) document["ops"] = OpsToJson(placed, timed.op_us);
  if (args.by_link) document["links"] = LinksToJson(placed.cluster, timed.links);
  std::printf("%s\n", JsonLine(document).c_str());
}

void PrintText(const RunArguments& args, const PlacedRun& placed, const TimedSteps& timed) {
  const Executor& executor = placed.executor;
  const StepStatistics& steps = timed.steps;
  const double predicted_us = executor.predicted().makespan_us;
  std::printf("%s: %d ops on %d devices, %d steps after %d to warm up\n", placed.graph.name().c_str(),
              placed.graph.num_ops(), placed.cluster.num_devices(), steps.steps, args.warmup);
  std::printf("  measured  %10.3f ms (median; half of the steps took %.3f to %.3f ms, outliers: %d)\n",
              steps.median_us / 1e3, steps.lower_quartile_us / 1e3, steps.upper_quartile_us / 1e3, steps.outliers);
  if (timed.undisturbed && timed.undisturbed->steps < steps.steps) {
    std::printf("  %d of them were not disturbed by other programs: %.3f ms (median)\n", timed.undisturbed->steps,
                timed.undisturbed->median_us / 1e3);
  } else if (!timed.undisturbed) {
    std::printf("  other programs took a device's core in every one of them\n");
    if (timed.replayed_us) {
      std::printf("  replayed  %10.3f ms, by the medians of ops and copies\n", *timed.replayed_us / 1e3);
    }
  }
  std::printf("  predicted %10.3f ms, measured / predicted %.3f\n", predicted_us / 1e3, steps.median_us / predicted_us);
  for (size_t device = 0; device < timed.peak_bytes.size(); ++device) {
    std::printf("  %-8s held %10.3f MB at most, predicted %.3f MB\n", placed.cluster.devices[device].name.c_str(),
                static_cast<double>(timed.peak_bytes[device]) / 1e6,
                static_cast<double>(executor.predicted().peak_bytes[device]) / 1e6);
  }
  if (!executor.program().left_out.empty()) {
    std::printf("  ops that are left to the optimizer, and in neither time: %zu\n", executor.program().left_out.size());
  }
  if (args.by_op) PrintTypes(placed, timed.op_us);
  if (args.by_link) PrintLinks(placed.cluster, timed.links);
}

int Run(const RunArguments& args) {
  CheckOutputFiles({{"--trace", args.trace}},
                   {{"--graph", args.graph}, {"--devices", args.devices}, {"--placement", args.placement}});
  const OpGraph graph = LoadGraph(args.graph);
  const Cluster cluster = LoadCluster(args.devices);
  const OrderedPlacement placement = LoadOrderedPlacement(args.placement, graph, cluster);
  const bool op_times = args.by_op || args.by_link || !args.trace.empty();
  Executor executor(graph, cluster, placement, {.throttle = args.throttle, .gpu_times = op_times});
  const PlacedRun placed = {graph, cluster, placement.placement, executor};
  const TimedSteps timed = TimeSteps(args, placed);
  if (!args.trace.empty()) WriteTrace(args.trace, placed, timed.steps);
  args.json ? PrintJson(args, placed, timed) : PrintText(args, placed, timed);
  return 0;
}

}  // namespace

void AddRunCommand(CLI::App& app, std::function<int()>& run) {
  auto args = std::make_shared<RunArguments>();
  CLI::App* command =
      app.add_subcommand("run", "Run a placed graph on this computer and print its step time beside the simulated one");
  AddGraphAndDevices(*command, args->graph, args->devices);
  command
      ->add_option(
          "--placement", args->placement,
          "Placement file, JSON. A device for which it has no order runs its ops in the order of the simulation")
      ->required();
  command->add_option("--steps", args->steps, "Number of steps that are timed")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  AddWarmup(*command, args->warmup);
  command
      ->add_option("--throttle-bandwidth", args->throttle.bandwidth_bytes_per_us,
                   "Bandwidth in bytes per microsecond of an artificial link over which each device sends. Without it, "
                   "tensors travel as fast as memory is copied")
      ->check(NumberIn(1e-3, 1e9));
  command
      ->add_option("--throttle-latency", args->throttle.latency_us,
                   "Latency of the artificial links in microseconds; needs --throttle-bandwidth")
      ->check(NumberIn(0, 1e9))
      ->needs("--throttle-bandwidth");
  command->add_flag("--by-op", args->by_op,
                    "Also print measured and predicted times of the ops, added up by type, or with --json of each op");
  command->add_flag("--by-link", args->by_link, "Also print what each device sends, and how long that takes");
  command->add_option("--trace", args->trace,
                      "File to write the timeline of a measured step to, for Perfetto or chrome://tracing");
  command->add_flag("--json", args->json, "Print the result as one JSON document");
  command->callback([args, &run] { run = [args] { return Run(*args); }; });
}

}  // namespace emplace
