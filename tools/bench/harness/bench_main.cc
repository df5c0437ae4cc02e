#include "tools/bench/harness/bench_main.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/command_line.h"
#include "common/error.h"
#include "common/log.h"
#include "common/strings.h"

namespace emplace::bench {
namespace {

nlohmann::ordered_json ToJson(const Figure& figure) {
  return {{"name", figure.name}, {"unit", figure.unit}, {"median", figure.median},
          {"low", figure.low},   {"high", figure.high}, {"repetitions", figure.repetitions}};
}

int Run(const std::string& program, int argc, char** argv, const std::vector<Bench>& benches) {
  Effort effort;
  std::vector<std::string> only;
  CLI::App app("Runs benchmarks and prints their figures as one JSON document. tools/bench/run.sh runs all programs.",
               program);
  app.add_flag("--quick", effort.quick, "Run two repetitions of each benchmark, only to see that it runs");
  app.add_option("--only", only, "Names of the benchmarks to run (default: all)");
  if (const std::optional<int> exit_code = ParseCommandLine(app, argc, argv)) return *exit_code;
  for (const std::string& name : only) {
    if (std::none_of(benches.begin(), benches.end(), [&](const Bench& bench) { return bench.name == name; })) {
      std::string names;
      for (const Bench& bench : benches) names += StrCat(names.empty() ? "" : ", ", bench.name);
      throw BadInput(StrCat("--only is '", name, "', expected one of ", names));
    }
  }
  nlohmann::ordered_json figures = nlohmann::ordered_json::array();
  for (const Bench& bench : benches) {
    if (!only.empty() && std::find(only.begin(), only.end(), bench.name) == only.end()) continue;
    const auto begin = std::chrono::steady_clock::now();
    for (const Figure& figure : bench.run(effort)) figures.push_back(ToJson(figure));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::fprintf(stderr, "%s: %.1f s\n", bench.name.c_str(), seconds);
  }
  std::printf("%s\n", nlohmann::ordered_json{{"figures", figures}}.dump(1).c_str());
  return 0;
}

}  // namespace

int BenchMain(const std::string& program, int argc, char** argv, const std::vector<Bench>& benches) {
  SetLogRole(program);  // Log lines go to stderr from here on.
  return RunMain(program, [&] { return Run(program, argc, argv, benches); });
}

}  // namespace emplace::bench
