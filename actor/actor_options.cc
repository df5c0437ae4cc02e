#include "actor/actor_options.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "common/error.h"
#include "common/log.h"
#include "common/strings.h"
#include "common/threads/host_name.h"
#include "common/wire/access/actor_name.h"
#include "common/wire/access/keys.h"

namespace emplace {
namespace {

// A signal handler can reach nothing but a global.
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void Interrupt(int) { interrupted = true; }

}  // namespace

void AddActorOptions(CLI::App& app, ActorArguments& arguments) {
  ActorOptions& options = arguments.options;
  options.name = StrCat(HostName(), "/", getpid());
  app.add_option("--learner", options.learner, "Address of the learner, such as tcp://127.0.0.1:40000")->required();
  app.add_option("--keys", arguments.keys,
                 "Key file of an actor, made by emplace keygen; needed when the learner is on another machine")
      ->envname("EMPLACE_KEYS");
  app.add_option("--name", options.name,
                 "Name of this actor. An actor that is started in the place of one that has ended needs the same name")
      ->capture_default_str();
}

int RunActorProgram(ActorArguments& arguments, RewardSource& rewards) {
  // The learner would refuse it, but only once there is one.
  const std::string& name = arguments.options.name;
  if (!IsActorName(name)) throw BadInput(StrCat("--name is '", name, "', expected ", ActorNameRule()));
  if (!arguments.keys.empty()) arguments.options.keys = LoadActorKeys(arguments.keys);
  std::signal(SIGINT, Interrupt);
  std::signal(SIGTERM, Interrupt);
  SetLogRole(StrCat("actor ", arguments.options.name));
  RunActor(arguments.options, interrupted, rewards);
  return 0;
}

}  // namespace emplace
