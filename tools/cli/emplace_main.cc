// The `emplace` command: one file a subcommand. Each adds its options to the parser and, when chosen, sets `run`.
#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string_view>

#include "common/command_line.h"
#include "common/error.h"
#include "common/log.h"
#include "common/strings.h"
#include "common/threads/interrupt.h"
#include "tools/cli/commands.h"

namespace emplace {
namespace {

// Commands of the Python package: its program of this name runs this one for all others.
constexpr std::array<std::string_view, 4> kPythonCommands = {"apply", "flags", "import", "probe"};

// Throws BadInput for a command that is in Python.
void RefusePythonCommand(std::string_view name) {
  if (std::ranges::find(kPythonCommands, name) == kPythonCommands.end()) return;
  throw BadInput(StrCat("'", name, "' is in the Python package, whose emplace this is not, expected the one that ",
                        "`pip install .` installs (docs/python.md)"));
}

}  // namespace
}  // namespace emplace

int main(int argc, char** argv) {
  emplace::CatchInterrupts("emplace");
  emplace::SetLogRole("emplace");
  return emplace::RunMain("emplace", [&] {
    CLI::App app("Places the ops of neural network graphs on devices, by learned policies and by other methods.");
    app.set_version_flag("--version", "emplace " EMPLACE_VERSION);
    app.footer("With the Python package (docs/python.md) `emplace` also has: " +
               emplace::Join({emplace::kPythonCommands.begin(), emplace::kPythonCommands.end()}, ", ") +
               ", costs --from");
    app.require_subcommand(1);
    app.fallthrough(false);
    std::function<int()> run;
    emplace::AddGenerateCommand(app, run);
    emplace::AddSimulateCommand(app, run);
    emplace::AddPlaceCommand(app, run);
    emplace::AddEvaluateCommand(app, run);
    emplace::AddConfigCommand(app, run);
    emplace::AddCostsCommand(app, run);
    emplace::AddExportCommand(app, run);
    emplace::AddInspectCommand(app, run);
    emplace::AddReportCommand(app, run);
    emplace::AddKeygenCommand(app, run);
    if (argc > 1) emplace::RefusePythonCommand(argv[1]);
    const std::optional<int> exit_code = emplace::ParseCommandLine(app, argc, argv);
    return exit_code ? *exit_code : run();
  });
}
