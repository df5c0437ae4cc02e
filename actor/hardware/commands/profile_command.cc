#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "actor/hardware/commands/commands.h"
#include "actor/hardware/commands/step_options.h"
#include "actor/hardware/executor.h"
#include "actor/hardware/measuring/link_profile.h"
#include "actor/hardware/measuring/op_profile.h"
#include "common/command_line.h"
#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/json_text.h"
#include "common/files/output_files.h"
#include "common/strings.h"
#include "simulator/graph/graph_io.h"

namespace emplace {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr size_t kShown = 10;  // Ops that were not run, of which a person is told.

struct ProfileArguments {
  std::string graph;
  std::string devices;
  std::string out;
  std::string devices_out;
  double seconds = 20;
  bool json = false;
};

struct ProfiledLink {
  DeviceIndex a = 0;
  DeviceIndex b = 0;
  LinkFit fit;
};

// A field of a CSV table, in quotes where it needs them.
std::string CsvText(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string CostsToCsv(const std::vector<OpProfile>& profiles) {
  std::string csv = "type,shapes,kind,us\n";
  for (const OpProfile& profile : profiles) {
    for (const ProfiledCost& cost : profile.costs) {
      csv += StrCat(CsvText(cost.key.type), ",", ShapesToText(cost.key.shapes), ",", CsvText(cost.key.kind), ",",
                    ShortestDouble(cost.us), "\n");
    }
  }
  return csv;
}

// One profile for each kind of device, by the first device of the kind.
std::vector<OpProfile> ProfileKinds(const OpGraph& graph, const Cluster& cluster, double seconds) {
  std::vector<DeviceIndex> first_of_kind;
  std::set<std::string> kinds;
  for (DeviceIndex device = 0; device < cluster.num_devices(); ++device) {
    if (kinds.insert(cluster.devices[static_cast<size_t>(device)].kind).second) first_of_kind.push_back(device);
  }
  std::vector<OpProfile> profiles;
  for (const DeviceIndex device : first_of_kind) {
    profiles.push_back(ProfileOps(graph, cluster, device, seconds / static_cast<double>(first_of_kind.size())));
  }
  return profiles;
}

std::vector<ProfiledLink> ProfileLinks(const Cluster& cluster) {
  std::vector<ProfiledLink> links;
  for (DeviceIndex a = 0; a < cluster.num_devices(); ++a) {
    for (DeviceIndex b = a + 1; b < cluster.num_devices(); ++b) {
      std::vector<TransferTime> times = TimeTransfers(cluster, a, b);
      const std::vector<TransferTime> back = TimeTransfers(cluster, b, a);
      times.insert(times.end(), back.begin(), back.end());
      links.push_back({a, b, FitLink(times)});
    }
  }
  return links;
}

// The machine with the overhead and the links that were measured.
Cluster MeasuredCluster(Cluster cluster, const std::vector<OpProfile>& profiles,
                        const std::vector<ProfiledLink>& links) {
  cluster.op_overhead_us = 0;
  for (const OpProfile& profile : profiles) {
    cluster.op_overhead_us = std::max(cluster.op_overhead_us, profile.op_overhead_us);
  }
  if (links.empty()) return cluster;
  cluster.link_model = LinkModel::kTopology;
  cluster.transfer_overhead_us = 0;
  cluster.topology = {};
  for (const Device& device : cluster.devices) cluster.topology.nodes.push_back(device.name);
  for (const ProfiledLink& link : links) {
    cluster.topology.links.push_back({.name = StrCat("link ", cluster.topology.links.size()),
                                      .a = link.a,
                                      .b = link.b,
                                      .bandwidth_bytes_per_us = link.fit.bandwidth_bytes_per_us,
                                      .latency_us = link.fit.latency_us});
  }
  return cluster;
}

OrderedJson ToJson(const OpGraph& graph, const Cluster& measured, const std::vector<OpProfile>& profiles,
                   const std::vector<ProfiledLink>& links, const std::vector<UnprofiledOp>& left_out) {
  OrderedJson costs = OrderedJson::array();
  OrderedJson not_run = OrderedJson::array();
  for (const OpProfile& profile : profiles) {
    for (const ProfiledCost& cost : profile.costs) {
      costs.push_back({{"type", cost.key.type},
                       {"shapes", ShapesToText(cost.key.shapes)},
                       {"kind", cost.key.kind},
                       {"us", cost.us},
                       {"ops", cost.ops}});
    }
  }
  for (const UnprofiledOp& op : left_out) {
    not_run.push_back({{"name", op.name}, {"reason", op.reason}});
  }
  OrderedJson all_links = OrderedJson::array();
  for (const ProfiledLink& link : links) {
    all_links.push_back(
        {{"between",
          {measured.devices[static_cast<size_t>(link.a)].name, measured.devices[static_cast<size_t>(link.b)].name}},
         {"bandwidth_bytes_per_us", link.fit.bandwidth_bytes_per_us},
         {"latency_us", link.fit.latency_us}});
  }
  return {{"graph", graph.name()},
          {"op_overhead_us", measured.op_overhead_us},
          {"costs", std::move(costs)},
          {"links", std::move(all_links)},
          {"not_run", std::move(not_run)}};
}

void Print(const OpGraph& graph, const Cluster& measured, const std::vector<OpProfile>& profiles,
           const std::vector<ProfiledLink>& links, const std::vector<UnprofiledOp>& not_run) {
  for (const OpProfile& profile : profiles) {
    std::printf("%s on %s: %zu costs from %d steps\n", graph.name().c_str(), profile.costs.front().key.kind.c_str(),
                profile.costs.size(), profile.steps);
  }
  std::printf("overhead of an op: %.3f us\n", measured.op_overhead_us);
  for (const ProfiledLink& link : links) {
    std::printf("%s - %s: %.1f bytes/us, latency %.2f us\n", measured.devices[static_cast<size_t>(link.a)].name.c_str(),
                measured.devices[static_cast<size_t>(link.b)].name.c_str(), link.fit.bandwidth_bytes_per_us,
                link.fit.latency_us);
  }
  if (!not_run.empty()) std::printf("not run: %zu of %d ops\n", not_run.size(), graph.num_ops());
  for (size_t i = 0; i < std::min(not_run.size(), kShown); ++i) {
    std::printf("  %s: %s\n", not_run[i].name.c_str(), not_run[i].reason.c_str());
  }
  if (not_run.size() > kShown) std::printf("  and %zu more\n", not_run.size() - kShown);
}

int Profile(const ProfileArguments& args) {
  CheckOutputFiles({{"--out", args.out}, {"--devices-out", args.devices_out}},
                   {{"--graph", args.graph}, {"--devices", args.devices}});
  const OpGraph graph = LoadGraph(args.graph);
  const Cluster cluster = LoadCluster(args.devices);
  // Looks for all devices, before the first one is timed.
  const RunnablePart part = FindRunnablePart(graph, ProcessorsHere(cluster));
  if (!part.not_run.empty() && std::ranges::all_of(part.graph.ops(), &std::string::empty, &Op::call_json)) {
    throw BadInput(StrCat(args.graph, ": none of its ops can be run: ", part.not_run.front().reason));
  }
  const std::vector<OpProfile> profiles = ProfileKinds(part.graph, cluster, args.seconds);
  const std::vector<ProfiledLink> links = ProfileLinks(cluster);
  const Cluster measured = MeasuredCluster(cluster, profiles, links);
  WriteFileAtomically(args.out, CostsToCsv(profiles));
  WriteFileAtomically(args.devices_out, ClusterToYaml(measured));
  if (args.json) {
    std::printf("%s\n", JsonLine(ToJson(graph, measured, profiles, links, part.not_run)).c_str());
  } else {
    Print(graph, measured, profiles, links, part.not_run);
  }
  return 0;
}

}  // namespace

void AddProfileCommand(CLI::App& app, std::function<int()>& run) {
  auto args = std::make_shared<ProfileArguments>();
  CLI::App* command =
      app.add_subcommand("profile", "Time the ops of a graph and the links between this computer's devices");
  AddGraphAndDevices(*command, args->graph, args->devices, ". Ops are timed on the first device of each kind");
  command->add_option("--out", args->out, "File to write the times of the ops to, CSV, for `emplace costs --costs`")
      ->required();
  command
      ->add_option("--devices-out", args->devices_out,
                   "File to write the cluster to, YAML, with the measured overhead of ops, and a link between each two "
                   "devices with measured bandwidth and latency")
      ->required();
  command
      ->add_option("--seconds", args->seconds,
                   "Seconds for which steps are run to time the ops; at least three steps are run")
      ->check(NumberIn(1e-6, 1e6))
      ->capture_default_str();
  command->add_flag("--json", args->json, "Print the result as one JSON document");
  command->callback([args, &run] { run = [args] { return Profile(*args); }; });
}

}  // namespace emplace
