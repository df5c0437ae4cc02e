// emplace-load: many light actors for one learner; prints what they did as one JSON document.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "common/command_line.h"
#include "common/error.h"
#include "common/files/open_files.h"
#include "common/log.h"
#include "common/threads/interrupt.h"
#include "common/wire/access/keys.h"
#include "tests/cluster/load/fleet.h"

namespace {

int Run(int argc, char** argv) {
  emplace::load::FleetOptions options;
  CLI::App app(
      "Plays many actors for one learner: each speaks the whole protocol and sends the same episodes again and again.",
      "emplace-load");
  app.add_option("--learner", options.learner, "Address of the learner, such as tcp://127.0.0.1:40000")->required();
  app.add_option("--name", options.name, "Start of each actor's name; its number follows")->capture_default_str();
  app.add_option("--actors", options.actors, "Number of actors")->capture_default_str()->check(CLI::Range(1, 100'000));
  std::string keys;
  app.add_option("--keys", keys, "Key file of an actor, made by emplace keygen");
  app.add_option("--rate", options.rate, "Episodes per second that all actors send together")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--records", options.records,
                 "CSV file to write the arrival time of each notice and each version of the weights to")
      ->required();
  if (const std::optional<int> exit_code = emplace::ParseCommandLine(app, argc, argv)) return *exit_code;
  if (!keys.empty()) options.keys = emplace::LoadActorKeys(keys);
  emplace::NoteInterrupts();
  emplace::SetLogRole(options.name);
  emplace::RaiseOpenFileLimit();
  emplace::load::Fleet fleet(options);
  const emplace::load::FleetTotals totals = fleet.Run(emplace::Interrupted());
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
