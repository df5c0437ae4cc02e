#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "api/task_inputs.h"
#include "common/command_line.h"
#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/json_text.h"
#include "common/files/output_files.h"
#include "common/strings.h"
#include "simulator/graph/graph_io.h"
#include "simulator/graph/measured_costs.h"
#include "tools/cli/commands.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr size_t kShown = 10;  // Rows and op types in the text report; the JSON has all.

struct CostsArguments {
  std::string costs;
  std::vector<std::string> graphs;
  std::string out;
  std::string kinds;
  bool json = false;
};

struct CostedFile {
  fs::path out;
  MeasuredGraph measured;
};

struct TableRow {
  int32_t line = 0;
  const CostKey* key = nullptr;
};

struct UnmeasuredType {
  std::string kind;
  std::string type;
  TypeCost cost;
};

// One graph goes to the file `out`; several, or a folder of them, to the folder `out` under their own names.
std::vector<fs::path> OutputPaths(const std::vector<fs::path>& graphs, const std::vector<std::string>& given,
                                  const fs::path& out) {
  const bool to_file = given.size() == 1 && !fs::is_directory(given[0]) && !fs::is_directory(out) && out.has_filename();
  if (to_file) return {out};
  std::set<fs::path> taken;
  std::vector<fs::path> paths;
  for (const fs::path& graph : graphs) {
    paths.push_back(out / graph.filename());
    if (!taken.insert(paths.back()).second) {
      throw BadInput(
          StrCat(graph.string(), ": a second graph of this file name, expected names that differ in ", out.string()));
    }
  }
  return paths;
}

MeasuredGraph PutInto(const fs::path& path, const MeasuredCosts& costs, const std::set<std::string>& kinds) {
  const OpGraph graph = LoadGraph(path);
  try {
    return ApplyMeasuredCosts(graph, costs, kinds);
  } catch (const Error& error) {
    throw BadInput(StrCat(path.string(), ": ", error.what()));
  }
}

void Write(const CostedFile& file) {
  if (file.out.has_parent_path()) MakeFolder(file.out.parent_path());
  const std::string text = GraphToJson(file.measured.graph);
  WriteFileAtomically(file.out, file.out.extension() == ".zst" ? CompressZstd(text) : text);
}

// The rows of the table that gave no op of any graph its cost, in the table's order.
std::vector<TableRow> UnusedRows(const MeasuredCosts& costs, const std::vector<CostedFile>& files) {
  std::set<size_t> used;
  for (const CostedFile& file : files) used.insert(file.measured.used.begin(), file.measured.used.end());
  std::vector<TableRow> rows;
  for (size_t i = 0; i < costs.costs().size(); ++i) {
    if (used.contains(i)) continue;
    for (const int32_t line : costs.costs()[i].lines) rows.push_back({line, &costs.costs()[i].key});
  }
  std::sort(rows.begin(), rows.end(), [](const TableRow& a, const TableRow& b) { return a.line < b.line; });
  return rows;
}

// Over all graphs, the most costly first.
std::vector<UnmeasuredType> UnmeasuredTypes(const std::vector<CostedFile>& files) {
  std::map<std::pair<std::string, std::string>, TypeCost> sums;  // By (kind, type).
  for (const CostedFile& file : files) {
    for (const KindCoverage& coverage : file.measured.coverage) {
      for (const auto& [type, cost] : coverage.unmeasured) {
        TypeCost& sum = sums[{coverage.kind, type}];
        sum.ops += cost.ops;
        sum.us += cost.us;
      }
    }
  }
  std::vector<UnmeasuredType> types;
  for (const auto& [key, cost] : sums) types.push_back({key.first, key.second, cost});
  std::stable_sort(types.begin(), types.end(),
                   [](const UnmeasuredType& a, const UnmeasuredType& b) { return a.cost.us > b.cost.us; });
  return types;
}

// Of the cost on a kind, what is measured; 0 where nothing costs anything.
double Share(const KindCoverage& coverage) {
  return coverage.runnable_us > 0 ? coverage.measured_us / coverage.runnable_us : 0;
}

void PrintJson(const std::vector<CostedFile>& files, const std::vector<UnmeasuredType>& types,
               const std::vector<TableRow>& unused) {
  OrderedJson graphs = OrderedJson::array();
  for (const CostedFile& file : files) {
    OrderedJson kinds = OrderedJson::array();
    for (const KindCoverage& coverage : file.measured.coverage) {
      kinds.push_back({{"kind", coverage.kind},
                       {"measured_ops", coverage.measured_ops},
                       {"runnable_ops", coverage.runnable_ops},
                       {"measured_us", coverage.measured_us},
                       {"runnable_us", coverage.runnable_us},
                       {"measured_share", Share(coverage)}});
    }
    graphs.push_back({{"graph", file.measured.graph.name()},
                      {"file", file.out.string()},
                      {"ops", file.measured.graph.num_ops()},
                      {"kinds", std::move(kinds)}});
  }
  OrderedJson unmeasured = OrderedJson::array();
  for (const UnmeasuredType& type : types) {
    unmeasured.push_back({{"kind", type.kind}, {"type", type.type}, {"ops", type.cost.ops}, {"us", type.cost.us}});
  }
  OrderedJson rows = OrderedJson::array();
  for (const TableRow& row : unused) {
    rows.push_back({{"line", row.line},
                    {"type", row.key->type},
                    {"shapes", ShapesToText(row.key->shapes)},
                    {"kind", row.key->kind}});
  }
  const OrderedJson document = {
      {"graphs", std::move(graphs)}, {"unmeasured_types", std::move(unmeasured)}, {"unused_rows", std::move(rows)}};
  std::printf("%s\n", JsonLine(document).c_str());
}

void PrintCoverage(const std::vector<CostedFile>& files) {
  size_t name_width = 5;
  for (const CostedFile& file : files) name_width = std::max(name_width, file.measured.graph.name().size());
  const int width = static_cast<int>(name_width);
  std::printf("%-*s  %-8s %8s %12s %8s %13s %15s\n", width, "graph", "kind", "measured", "may run here", "all ops",
              "cost here, ms", "of it measured");
  for (const CostedFile& file : files) {
    for (const KindCoverage& coverage : file.measured.coverage) {
      std::printf("%-*s  %-8s %8lld %12lld %8d %13.3f %14.1f%%\n", width, file.measured.graph.name().c_str(),
                  coverage.kind.c_str(), static_cast<long long>(coverage.measured_ops),
                  static_cast<long long>(coverage.runnable_ops), file.measured.graph.num_ops(),
                  coverage.runnable_us / 1e3, 100 * Share(coverage));
    }
  }
}

void PrintMore(size_t all) {
  if (all > kShown) std::printf("  and %zu more\n", all - kShown);
}

void PrintUnmeasured(const std::vector<UnmeasuredType>& types) {
  if (types.empty()) return;
  std::printf("\nnot measured, the most costly op types:\n");
  for (size_t i = 0; i < std::min(types.size(), kShown); ++i) {
    std::printf("  %-8s %-40s %8lld ops %13.3f ms\n", types[i].kind.c_str(), types[i].type.c_str(),
                static_cast<long long>(types[i].cost.ops), types[i].cost.us / 1e3);
  }
  PrintMore(types.size());
}

void PrintUnused(const std::string& table, const std::vector<TableRow>& rows) {
  if (rows.empty()) return;
  std::printf("\nrows of %s that no op took its cost from:\n", table.c_str());
  for (size_t i = 0; i < std::min(rows.size(), kShown); ++i) {
    const std::string shapes = ShapesToText(rows[i].key->shapes);
    std::printf("  line %-6d %s, %s, %s\n", rows[i].line, rows[i].key->type.c_str(),
                shapes.empty() ? "any shapes" : shapes.c_str(), rows[i].key->kind.c_str());
  }
  PrintMore(rows.size());
}

int PutCosts(const CostsArguments& args) {
  const MeasuredCosts costs = MeasuredCosts::Parse(ReadFile(args.costs), args.costs);
  std::set<std::string> kinds;
  if (!args.kinds.empty()) {
    const std::vector<std::string> names = Split(args.kinds, ',');
    kinds.insert(names.begin(), names.end());
  }
  if (kinds.contains(""))
    throw BadInput(StrCat("--kinds is '", args.kinds, "', expected names with a comma between them"));
  const std::vector<fs::path> graphs = FindGraphs(args.graphs);
  const std::vector<fs::path> outputs = OutputPaths(graphs, args.graphs, args.out);
  // A graph may be written over: that puts the costs into it.
  std::vector<FileArgument> written;
  for (const fs::path& output : outputs) written.push_back({"--out", output});
  CheckFilesDiffer(written, {{"--costs", args.costs}});
  std::vector<CostedFile> files;
  for (size_t i = 0; i < graphs.size(); ++i) files.push_back({outputs[i], PutInto(graphs[i], costs, kinds)});
  // Everything is read and checked before the first file is written.
  for (const CostedFile& file : files) Write(file);

  const std::vector<UnmeasuredType> types = UnmeasuredTypes(files);
  const std::vector<TableRow> unused = UnusedRows(costs, files);
  if (args.json) {
    PrintJson(files, types, unused);
    return 0;
  }
  PrintCoverage(files);
  PrintUnmeasured(types);
  PrintUnused(args.costs, unused);
  std::printf("\n%zu graph%s written to %s\n", files.size(), files.size() == 1 ? "" : "s", args.out.c_str());
  return 0;
}

}  // namespace

void AddCostsCommand(CLI::App& app, std::function<int()>& run) {
  auto args = std::make_shared<CostsArguments>();
  CLI::App* command = app.add_subcommand("costs", "Replace the costs of ops in graphs by measured ones");
  command
      ->add_option("--costs", args->costs,
                   "Table of measured costs in microseconds, CSV with the columns type,shapes,kind,us")
      ->required();
  command->add_option("--graph", args->graphs, "Graph file, or folder of graph files; may be repeated")->required();
  command->add_option("--out", args->out, "File to write the graph to; for several graphs, the folder to write them to")
      ->required()
      ->check(NotEmpty());
  command->add_option(
      "--kinds", args->kinds,
      "Comma-separated device kinds, besides those of the table and the graph. An op whose cost is one number for "
      "all kinds keeps that number on these kinds");
  command->add_flag("--json", args->json, "Print the result as one JSON document");
  command->callback([args, &run] { run = [args] { return PutCosts(*args); }; });
}

}  // namespace emplace
