#include "actor/actor_options.h"

#include <unistd.h>

#include "common/error.h"
#include "common/log.h"
#include "common/strings.h"
#include "common/threads/host_name.h"
#include "common/threads/interrupt.h"
#include "common/wire/access/actor_name.h"
#include "common/wire/access/keys.h"
#include "common/wire/address.h"

namespace emplace {

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
  ParseAddress(arguments.options.learner, arguments.options.keys.has_value());  // Before a line of the log.
  NoteInterrupts();
  SetLogRole(StrCat("actor ", arguments.options.name));
  RunActor(arguments.options, Interrupted(), rewards);
  return 0;
}

}  // namespace emplace
