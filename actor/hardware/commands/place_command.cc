#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "actor/hardware/commands/commands.h"
#include "actor/hardware/commands/measuring_command.h"
#include "actor/hardware/commands/step_options.h"
#include "actor/hardware/executor.h"
#include "actor/hardware/measuring/hardware_measure.h"
#include "actor/hardware/measuring/measuring_process.h"
#include "actor/hardware/program/step_program.h"
#include "actor/hardware/search/measured_search.h"
#include "actor/reward_source.h"
#include "api/place_graph.h"
#include "api/task_inputs.h"
#include "common/command_line.h"
#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/json_text.h"
#include "common/files/output_files.h"
#include "common/log.h"
#include "common/strings.h"
#include "common/threads/interrupt.h"
#include "policy/placer/policy_method.h"
#include "policy/policy_weights.h"
#include "simulator/engine/single_device.h"
#include "simulator/graph/graph_io.h"

namespace emplace {
namespace {

using OrderedJson = nlohmann::ordered_json;

// A window ends after as many seconds whatever the step takes. Nothing but the user waits for it.
constexpr double kLongestWindow_s = 10;

struct PlaceArguments {
  std::string graph;
  std::string devices;
  std::string out;
  int32_t measurements = 30;
  double seconds = 1;
  int64_t steps = 12;
  int32_t warmup = 2;
  double timeout_s = 30;
  uint64_t seed = 1;
  bool json = false;
};

// The device whose steps others are compared with.
DeviceIndex FindReference(const PlaceArguments& args, const OpGraph& graph, const Cluster& cluster) {
  CheckKinds(graph, cluster);
  const DeviceIndex device = FindSingleDevice(SimGraph::Compile(graph, cluster)).device;
  if (device >= 0) return device;
  throw NoReference(StrCat(args.graph, " on ", args.devices));
}

// Places by simulation for args.seconds at a time, on all cores.
Placer MakePlacer(const PlaceArguments& args) {
  MethodOptions options;
  options.budget = 0;
  options.seconds = args.seconds;
  options.threads = Threads(0);
  options.stop = &Interrupted();
  if (const std::optional<PolicyWeights> planner = PolicyAsked("")) UsePolicy(*planner, options);
  return [&args, options](const PlacingRequest& request) -> std::optional<OrderedPlacement> {
    MethodOptions seeded = options;
    seeded.seed = request.seed;
    const PlacedGraph placed =
        PlaceGraph(request.graph, request.machine,
                   {.graph_source = args.graph, .devices_source = args.devices, .method = request.method}, seeded);
    if (!placed.chosen.score.feasible) return std::nullopt;
    return OrderedPlacement{.placement = placed.chosen.placement, .orders = placed.chosen.orders};
  };
}

// Times steps in a process of its own, in windows in which other work of Emplace pauses.
class Meter {
 public:
  Meter(const PlaceArguments& args, const OpGraph& graph, const Cluster& cluster, DeviceIndex reference)
      : process_(
            {graph}, cluster, {reference},
            {.command = MeasureCommandLine(), .step_limit_s = args.timeout_s, .is_over = IsOver, .times_parts = true}),
        meter_({.warmup = args.warmup, .steps = args.steps, .window_s = kLongestWindow_s, .share = 1}, process_, lock_,
               IsOver) {}

  std::optional<MeasuredStep> Measure(const OrderedPlacement& placement) {
    try {
      return MeasuredStepOf(meter_.Samples(0, placement));
    } catch (const StepFailed& failure) {
      LogWarning(StrCat("a placement is left out: ", failure.what()));
      return std::nullopt;
    } catch (const MeasurementCancelled&) {
      throw Stopped();
    }
  }

 private:
  static bool IsOver() { return Interrupted().load(); }

  MeasuringProcess process_;
  MachineLock lock_;
  HardwareMeter meter_;
};

std::unique_ptr<Meter> StartMeter(const PlaceArguments& args, const OpGraph& graph, const Cluster& cluster,
                                  DeviceIndex reference) {
  try {
    return std::make_unique<Meter>(args, graph, cluster, reference);
  } catch (const MeasurementCancelled&) {
    throw Stopped();
  }
}

void ShowTrial(const Trial& trial, int32_t done, int32_t of) {
  if (!trial.ratio) {
    LogInfo(StrCat("measurement ", done, " of ", of, ": the step fails (", trial.candidate.origin, ")"));
    return;
  }
  const double ratio = trial.again.empty() ? *trial.ratio : trial.again.back();
  LogInfo(Format("measurement %d of %d: %.4f of one device's step (%s%s)", done, of, ratio,
                 trial.candidate.origin.c_str(), trial.again.empty() ? "" : ", again"));
}

OrderedJson ToJson(const std::vector<Trial>& trials) {
  OrderedJson json = OrderedJson::array();
  for (const Trial& trial : trials) {
    json.push_back({{"found_by", trial.candidate.origin},
                    {"ratio", trial.ratio ? OrderedJson(*trial.ratio) : OrderedJson()},
                    {"again", trial.again},
                    {"simulated_us", trial.simulated_us},
                    {"corrected_us", trial.corrected_us}});
  }
  return json;
}

OrderedJson ToJson(const OpGraph& graph, const MeasuredSearchResult& found, double seconds) {
  const bool measured = found.reference_us > 0;
  return {{"graph", graph.name()},
          {"found_by", found.origin},
          {"measured_us", measured ? OrderedJson(found.ratio * found.reference_us) : OrderedJson()},
          {"ratio", measured ? OrderedJson(found.ratio) : OrderedJson()},
          {"one_device_us", measured ? OrderedJson(found.reference_us) : OrderedJson()},
          {"simulated_us", found.simulated_us},
          {"corrected_us", found.corrected_us},
          {"measurements", found.measurements},
          {"failed", found.failed},
          {"stopped", found.stopped},
          {"seconds", seconds},
          {"trials", ToJson(found.trials)}};
}

void Print(const PlaceArguments& args, const OpGraph& graph, const Cluster& cluster, const MeasuredSearchResult& found,
           DeviceIndex reference, double seconds) {
  std::printf("%s: %d ops on %d devices, %d measurements in %.0f s%s\n", graph.name().c_str(), graph.num_ops(),
              cluster.num_devices(), found.measurements, seconds, found.stopped ? ", then interrupted" : "");
  if (found.failed > 0) std::printf("  measurements of steps that failed or hung: %d\n", found.failed);
  if (found.reference_us == 0) {
    std::printf("  the methods find no other placement than that on one device: there was nothing to measure\n");
  } else {
    std::printf("  measured   %10.3f ms, %.4f of a step on %s, which took %.3f ms\n",
                found.ratio * found.reference_us / 1e3, found.ratio,
                cluster.devices[static_cast<size_t>(reference)].name.c_str(), found.reference_us / 1e3);
  }
  std::printf("  simulated  %10.3f ms with the given costs, %.3f ms with the corrected ones\n",
              found.simulated_us / 1e3, found.corrected_us / 1e3);
  if (!found.trials.empty() && found.trials.front().ratio) {
    std::printf("  first      %10.3f ms, %.4f: measured, before any correction\n",
                *found.trials.front().ratio * found.reference_us / 1e3, *found.trials.front().ratio);
  }
  std::printf("  found by %s, written to %s\n", found.origin.c_str(), args.out.c_str());
}

int Place(const PlaceArguments& args) {
  const auto begin = std::chrono::steady_clock::now();
  CatchInterrupts("emplace-hardware");
  CheckOutputFiles({{"--out", args.out}}, {{"--graph", args.graph}, {"--devices", args.devices}});
  const Cluster cluster = LoadCluster(args.devices);
  FindDevicesHere(cluster);  // Throws for those that are not here.
  const OpGraph graph = LoadGraph(args.graph);
  const OpGraph run = WithoutCostsOfOpsNotRun(graph);
  const DeviceIndex reference = FindReference(args, run, cluster);
  const std::unique_ptr<Meter> meter = StartMeter(args, run, cluster, reference);
  MeasuredSearchOptions options{.measurements = args.measurements, .seed = args.seed, .stop = &Interrupted()};
  if (!args.json) {
    options.progress = [&](const Trial& trial, int32_t done) { ShowTrial(trial, done, args.measurements); };
  }
  const MeasuredSearchResult found =
      SearchByMeasuring(run, cluster, reference, options, MakePlacer(args),
                        [&](const OrderedPlacement& placement) { return meter->Measure(placement); });
  FinishDespiteInterrupt();
  WriteFileAtomically(args.out, PlacementToJson(graph, cluster, found.placement.placement, "",
                                                WithLeftOutLast(graph, found.placement.orders)));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (args.json) {
    std::printf("%s\n", JsonLine(ToJson(graph, found, seconds)).c_str());
  } else {
    Print(args, graph, cluster, found, reference, seconds);
  }
  return 0;
}

}  // namespace

void AddPlaceCommand(CLI::App& app, std::function<int()>& run) {
  auto args = std::make_shared<PlaceArguments>();
  CLI::App* command = app.add_subcommand(
      "place", "Search for a placement of one graph by measuring steps of a few placements on this computer");
  AddGraphAndDevices(*command, args->graph, args->devices);
  command->add_option("--out", args->out, "File to write the best placement to, JSON (emplace.placement/1)")
      ->required();
  command
      ->add_option("--measurements", args->measurements,
                   "Number of measurements at most, those that fail included. A fifth of them measures the best again")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->add_option("--seconds", args->seconds, "Seconds of the simulated search before each measurement")
      ->check(NumberIn(1e-3, 1e6))
      ->capture_default_str();
  command
      ->add_option("--steps", args->steps,
                   "Number of timed steps of one measurement, and of the steps on one device beside it")
      ->check(CLI::Range(2, 1000000))
      ->capture_default_str();
  AddWarmup(*command, args->warmup);
  command
      ->add_option(
          "--timeout", args->timeout_s,
          "Seconds that a step may take; a placement with a longer one counts as one that hangs, and is left out")
      ->check(NumberIn(0.1, 1e5))
      ->capture_default_str();
  command->add_option("--seed", args->seed, "Random seed of the searches")->check(Seed())->capture_default_str();
  command->add_flag("--json", args->json, "Print the result as one JSON document");
  command->callback([args, &run] { run = [args] { return Place(*args); }; });
}

}  // namespace emplace
