// emplace-hardware: runs placed graphs on the devices of this computer and times them. Needs LibTorch.
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <limits>

#include "actor/hardware/profile_command.h"
#include "actor/hardware/run_command.h"
#include "common/error.h"
#include "common/log.h"

int main(int argc, char** argv) {
  emplace::SetLogRole("emplace-hardware");
  // Memory that one step frees is kept for the next one: fresh pages from the operating system would cost more than
  // many an op, at times that no placement decides.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_ARENA_MAX, 1);
  return emplace::RunMain("emplace-hardware", [&] {
    CLI::App app("Runs placed graphs on the devices of this computer, and times them.");
    app.set_version_flag("--version", "emplace " EMPLACE_VERSION);
    app.require_subcommand(1);
    app.fallthrough(false);
    std::function<int()> run;
    emplace::AddRunCommand(app, run);
    emplace::AddProfileCommand(app, run);
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& help) {
      return app.exit(help);
    } catch (const CLI::ParseError& error) {
      throw emplace::BadInput(std::string(error.what()) + " (see --help)");
    }
    return run();
  });
}
