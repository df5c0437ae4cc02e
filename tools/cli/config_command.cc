#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "policy/config/run_config.h"
#include "tools/cli/commands.h"

namespace emplace {
namespace {

struct ConfigArguments {
  std::string file;
  std::vector<std::string> overrides;
};

std::string Shown(const ConfigArguments& args) {
  if (!args.file.empty()) return RunConfigToYaml(LoadRunConfig(args.file, args.overrides));
  if (args.overrides.empty()) return RunConfigHelp();
  return RunConfigToYaml(ParseRunConfig("{}", "--set", std::filesystem::current_path(), args.overrides));
}

int Config(const ConfigArguments& args) {
  std::fputs(Shown(args).c_str(), stdout);
  return 0;
}

}  // namespace

void AddConfigCommand(CLI::App& app, std::function<int()>& run) {
  auto args = std::make_shared<ConfigArguments>();
  CLI::App* command = app.add_subcommand(
      "config", "Print every key of a run's configuration, or all values that a configuration file comes to");
  command->add_option("file", args->file,
                      "Configuration file, YAML. Its values are printed with all defaults, as the run directory's "
                      "config.yaml would have them. Without a file, all defaults with what --set says, or without "
                      "--set every key with its default, range and help");
  command
      ->add_option("--set", args->overrides,
                   "Replace a value of the configuration, as section.key=value; may be repeated")
      ->take_all();
  command->footer([] { return "Keys of a configuration, each with default, range and help:\n" + RunConfigHelp(); });
  command->callback([args, &run] { run = [args] { return Config(*args); }; });
}

}  // namespace emplace
