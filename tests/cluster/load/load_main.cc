// emplace-load: many light actors for one learner; prints what they did as one JSON document.
#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "common/error.h"
#include "common/log.h"
#include "common/open_files.h"
#include "common/wire/keys.h"
#include "tests/cluster/load/fleet.h"

namespace {

std::atomic<bool> interrupted = false;

void Interrupt(int) { interrupted = true; }

int Run(int argc, char** argv) {
  emplace::load::FleetOptions options;
  CLI::App app("Many light actors for one learner: all of the protocol, episodes played once and sent again and again.",
               "emplace-load");
  app.add_option("--learner", options.learner, "Address of the learner, tcp://host:port")->required();
  app.add_option("--name", options.name, "Of the actors, before their numbers")->capture_default_str();
  app.add_option("--actors", options.actors, "How many")->capture_default_str()->check(CLI::Range(1, 100'000));
  std::string keys;
  app.add_option("--keys", keys, "Keys of the run, as emplace keygen makes them");
  app.add_option("--rate", options.rate, "Episodes a second, of all together")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--records", options.records, "CSV of notices and weights, with the times they came at")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    throw emplace::BadInput(error.what());
  }
  if (!keys.empty()) options.keys = emplace::LoadActorKeys(keys);
  std::signal(SIGINT, Interrupt);
  std::signal(SIGTERM, Interrupt);
  emplace::SetLogRole(options.name);
  emplace::RaiseOpenFileLimit();
  emplace::load::Fleet fleet(options);
  const emplace::load::FleetTotals totals = fleet.Run(interrupted);
  const nlohmann::json out = {{"joined", totals.joined},     {"join_s", totals.join_s},
                              {"produced", totals.produced}, {"held_back", totals.held_back},
                              {"weights", totals.weights},   {"weights_bytes", totals.weights_bytes}};
  std::printf("%s\n", out.dump().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return emplace::RunMain("emplace-load", [&] { return Run(argc, argv); });
}
