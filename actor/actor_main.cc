// emplace-actor: rolls out placement episodes for a learner. The learner sends everything else that an actor needs.
#include <malloc.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <string>

#include "actor/actor.h"
#include "common/error.h"
#include "common/host_name.h"
#include "common/log.h"
#include "common/strings.h"
#include "common/wire/keys.h"

namespace {

// A signal handler can reach nothing but a global.
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void Interrupt(int) { interrupted = true; }

std::string DefaultName() { return emplace::StrCat(emplace::HostName(), "/", getpid()); }

int Run(int argc, char** argv) {
  emplace::ActorOptions options;
  options.name = DefaultName();
  CLI::App app("Rolls out placement episodes for a learner, which sends the configuration, the graphs and the policy.",
               "emplace-actor");
  app.add_option("--learner", options.learner, "Address of the learner, such as tcp://127.0.0.1:40000")->required();
  std::string keys;
  app.add_option("--keys", keys,
                 "Key file of an actor, made by emplace keygen; needed when the learner is on another machine")
      ->envname("EMPLACE_KEYS");
  app.add_option("--name", options.name, "Name of this actor; an actor that replaces it has the same name")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    throw emplace::BadInput(error.what());
  }
  if (!keys.empty()) options.keys = emplace::LoadActorKeys(keys);
  // Threads mostly wait: a heap each would only cost memory.
  mallopt(M_ARENA_MAX, 1);
  std::signal(SIGINT, Interrupt);
  std::signal(SIGTERM, Interrupt);
  emplace::SetLogRole(emplace::StrCat("actor ", options.name));
  emplace::RunActor(options, interrupted);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return emplace::RunMain("emplace-actor", [&] { return Run(argc, argv); });
}
