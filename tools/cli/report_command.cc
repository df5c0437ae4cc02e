#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "api/run_files.h"
#include "common/command_line.h"
#include "common/files/file_io.h"
#include "common/files/output_files.h"
#include "common/strings.h"
#include "tools/cli/commands.h"
#include "tools/report/report_data.h"
#include "tools/report/report_page.h"

namespace emplace {
namespace {

struct ReportArguments {
  ReportInputs inputs;
  std::string title = "Emplace report";
  std::string out;
};

void CheckReportFiles(const ReportArguments& args) {
  std::vector<FileArgument> inputs = {
      {"--graph", args.inputs.graph}, {"--devices", args.inputs.devices}, {"--placement", args.inputs.placement}};
  for (const std::string& source : args.inputs.sources) {
    const std::vector<FileArgument> files = InputFiles(StrCat("source '", source, "'"), source);
    inputs.insert(inputs.end(), files.begin(), files.end());
  }
  CheckOutputFiles({{"--out", args.out}}, inputs);
}

int Report(const ReportArguments& args) {
  CheckReportFiles(args);
  const std::string page = RenderReport(CollectReport(args.inputs), args.title);
  WriteFileAtomically(args.out, page);
  std::printf("%s written, %.1f MB\n", args.out.c_str(), static_cast<double>(page.size()) / 1e6);
  return 0;
}

}  // namespace

void AddReportCommand(CLI::App& app, std::function<int()>& run) {
  auto args = std::make_shared<ReportArguments>();
  CLI::App* command = app.add_subcommand("report", "Write an HTML page about runs, evaluations and a placed graph");
  command->add_option("sources", args->inputs.sources, "Run directories, and outputs of emplace evaluate --json")
      ->required();
  command->add_option("--out", args->out, "File to write the page to, *.html")->required()->check(NotEmpty());
  command->add_option("--title", args->title, "Title of the page")->capture_default_str();
  command->add_option(
      "--graph", args->inputs.graph,
      "Graph file to show placed; needs --devices and --placement (default: the first test graph of a run, "
      "placed by that run's policy)");
  command->add_option("--devices", args->inputs.devices, "Cluster file on which --graph is placed, YAML");
  command->add_option("--placement", args->inputs.placement, "Placement of --graph, JSON");
  command
      ->add_option("--max-groups", args->inputs.max_groups,
                   "Upper limit of the groups into which the ops of the shown graph are merged, 0 for every op by "
                   "itself (default: as many as the policy was trained with, or 128 without a policy)")
      ->check(CLI::Range(0, 1000000));
  command->callback([args, &run] { run = [args] { return Report(*args); }; });
}

}  // namespace emplace
