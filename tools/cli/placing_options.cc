#include "tools/cli/placing_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "api/place_graph.h"
#include "api/placing_wishes.h"
#include "common/strings.h"
#include "simulator/methods/placement_method.h"

namespace emplace {
namespace {

void AddOrderOption(CLI::App& command, std::string& order) {
  const std::vector<std::string> orders = OrdersToAskFor();
  command
      .add_option("--order", order,
                  "Order in which each device runs its ops, one of: " + Join(orders, ", ") + "; " + kNoOrder +
                      " lets ops run as they get ready (default: auto gives an order where that is faster, and other "
                      "methods give none)")
      ->check(CLI::IsMember(orders));
}

void AddOwnOptions(CLI::App& command, std::map<std::string, std::string>& values) {
  for (const OwnOption& option : OwnOptions()) {
    command
        .add_option_function<std::string>(
            FlagOf(option.field), [&values, name = option.field.name](const std::string& text) { values[name] = text; },
            StrCat(option.field.help, " (method ", Join(option.methods, ", "), "; default: ", TextOf(option.value),
                   ")"))
        ->type_name(option.field.Expected(option.value));
  }
}

void AddObjectiveOption(CLI::App& command, std::string& objective) {
  command
      .add_option("--objective", objective,
                  "What is minimized: latency, the time of one step, or throughput, the load of the busiest device, "
                  "which is the time from step to step in a pipeline and which methods auto and dp minimize")
      ->check(CLI::IsMember(ObjectiveNames()))
      ->capture_default_str();
}

}  // namespace

std::string FlagOf(const ConfigField& field) {
  std::string flag = "--" + field.name;
  std::ranges::replace(flag, '_', '-');
  return flag;
}

void AddPlacingOptions(CLI::App& command, PlacingWishes& wishes) {
  AddOrderOption(command, wishes.order);
  AddObjectiveOption(command, wishes.objective);
  command
      .add_option("--max-groups", wishes.max_groups,
                  "Upper limit of the groups into which ops are merged, 0 for every op by itself (default: as many as "
                  "the policy was trained with, or 128 without a policy)")
      ->check(CLI::Range(0, 1000000));
  AddOwnOptions(command, wishes.method_options);
}

}  // namespace emplace
