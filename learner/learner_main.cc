// emplace-learner: reads the command line, then trains until the run is over or a signal stops it.
#include <atomic>
#include <csignal>
#include <optional>

#include "common/command_line.h"
#include "common/error.h"
#include "common/log.h"
#include "common/open_files.h"
#include "learner/learner.h"

namespace {

std::atomic<bool> interrupted = false;

void Interrupt(int) { interrupted = true; }

}  // namespace

int main(int argc, char** argv) {
  emplace::SetLogRole("learner");
  return emplace::RunMain("emplace-learner", [&] {
    emplace::LearnerOptions options;
    CLI::App app("Trains a placement policy on the episodes that actors send.");
    app.add_option("--config", options.config,
                   "Configuration of the run, YAML; with --resume, the one in the run directory counts")
        ->required();
    app.add_option("--dir", options.run_dir, "Run directory, to which everything is written; made if it is missing")
        ->required();
    app.add_flag("--resume", options.resume, "Go on from the newest checkpoint in the run directory");
    app.add_option("--set", options.overrides,
                   "Replace a value of the configuration, as section.key=value; may be repeated")
        ->take_all();
    if (const std::optional<int> exit_code = emplace::ParseCommandLine(app, argc, argv)) return *exit_code;
    std::signal(SIGINT, Interrupt);
    std::signal(SIGTERM, Interrupt);
    emplace::RaiseOpenFileLimit();  // Each actor has several connections.
    emplace::RunLearner(options, interrupted);
    return 0;
  });
}
