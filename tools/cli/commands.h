// The subcommands of `emplace`. Each function adds one, with its options, to the parser, and sets `run` once the
// command line names it: to what the command does, which returns the program's exit code and throws Error. REQUIRES:
// `run` outlives the parser.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

// The keys of a run's configuration, or a configuration with all of its values.
void AddConfigCommand(CLI::App& app, std::function<int()>& run);
// Replaces the costs of ops in graphs by measured ones.
void AddCostsCommand(CLI::App& app, std::function<int()>& run);
// Compares placement methods on graphs, as a table or as JSON.
void AddEvaluateCommand(CLI::App& app, std::function<int()>& run);
// Copies the best policy and the best placements found so far out of a run directory, also while the run goes on.
void AddExportCommand(CLI::App& app, std::function<int()>& run);
// Writes the graphs of a family, or of a single network.
void AddGenerateCommand(CLI::App& app, std::function<int()>& run);
// `emplace generate instances`: writes placement problems, each a graph and a machine. generate: the subcommand that it
// is part of.
void AddInstancesCommand(CLI::App& generate, std::function<int()>& run);
// Describes any file or folder of Emplace.
void AddInspectCommand(CLI::App& app, std::function<int()>& run);
// Makes the keys that encrypt a run.
void AddKeygenCommand(CLI::App& app, std::function<int()>& run);
// Places one graph and writes the placement.
void AddPlaceCommand(CLI::App& app, std::function<int()>& run);
// Writes one HTML page about runs, evaluations and a placed graph.
void AddReportCommand(CLI::App& app, std::function<int()>& run);
// Simulates one step of a placed graph and prints its makespan.
void AddSimulateCommand(CLI::App& app, std::function<int()>& run);

}  // namespace emplace
