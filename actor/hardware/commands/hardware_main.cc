// emplace-hardware: runs placed graphs on the devices of this computer and times them. Needs LibTorch.
#include <malloc.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>

#include "actor/hardware/commands/commands.h"
#include "common/command_line.h"
#include "common/error.h"
#include "common/log.h"

int main(int argc, char** argv) {
  emplace::SetLogRole("emplace-hardware");
  // Memory that one step frees is kept for the next one: fresh pages from the operating system would cost more than
  // many an op, at times that no placement decides. Each device's thread has an arena of its own, for memory that two
  // cores write in turns travels from one's cache to the other's: convolutions took 1.5 times as long so. The pad keeps
  // an arena's heaps, of 64 MB each, when they are empty.
  constexpr int kHeapBytes = 64 << 20;
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, kHeapBytes);
  const int exit_code = emplace::RunMain("emplace-hardware", [&] {
    CLI::App app("Runs placed graphs on the devices of this computer, and times them.");
    app.set_version_flag("--version", "emplace " EMPLACE_VERSION);
    app.require_subcommand(1);
    app.fallthrough(false);
    std::function<int()> run;
    emplace::AddRunCommand(app, run);
    emplace::AddProfileCommand(app, run);
    emplace::AddPlaceCommand(app, run);
    emplace::AddActorCommand(app, run);
    emplace::AddMeasureCommand(app, run);
    const std::optional<int> told = emplace::ParseCommandLine(app, argc, argv);
    return told ? *told : run();
  });
  // LibTorch takes a third of a second to take itself down, which is all the time that a command has to end at Ctrl-C.
  // All that is to be written is written.
  emplace::FlushLog(std::chrono::seconds(1));
  std::_Exit(exit_code);
}
