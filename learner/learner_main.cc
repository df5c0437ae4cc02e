// emplace-learner: reads the command line, then trains until the run is over or a signal stops it; or computes as one
// of the ranks of a learner that trains.
#include <optional>
#include <string>

#include "common/command_line.h"
#include "common/error.h"
#include "common/files/open_files.h"
#include "common/log.h"
#include "common/strings.h"
#include "common/threads/interrupt.h"
#include "common/wire/access/keys.h"
#include "common/wire/messages/messages.h"
#include "learner/learner.h"
#include "learner/ranks/rank_follower.h"

namespace {

// The options of rank 0, which is the learner, and of the other ranks.
struct Options {
  emplace::LearnerOptions learner;
  emplace::RankOptions rank;
  std::string rank_keys;
};

void AddOptions(Options& options, CLI::App& app) {
  CLI::Option* const rank =
      app.add_option("--rank", options.rank.rank,
                     "Run as this rank, 1 or more, of a learner that consists of several processes (training.ranks). "
                     "Rank 0 sends it all that it needs, so it takes only --leader, --keys and --gpu")
          ->check(CLI::Range(1, static_cast<int>(emplace::kMaxRanks) - 1));
  app.add_option("--leader", options.rank.leader,
                 "Address of rank 0, to which this rank connects, such as tcp://127.0.0.1:40002")
      ->needs(rank);
  app.add_option("--keys", options.rank_keys, "Key file of the ranks, which rank 0 writes as RUN_DIR/ranks.keys")
      ->envname("EMPLACE_KEYS");
  app.add_option("--gpu", options.rank.gpu, "Index of the GPU for this rank, where training.device is cuda")
      ->needs(rank)
      ->check(CLI::NonNegativeNumber);
  app.add_option(
         "--config", options.learner.config,
         "Configuration file of the run, YAML. With --resume, the run keeps the configuration in its run directory")
      ->excludes(rank);
  app.add_option("--dir", options.learner.run_dir,
                 "Run directory, to which everything is written; made if it is missing")
      ->excludes(rank);
  app.add_flag("--resume", options.learner.resume, "Go on from the newest checkpoint in the run directory")
      ->excludes(rank);
  app.add_option("--set", options.learner.overrides,
                 "Replace a value of the configuration, as section.key=value; may be repeated")
      ->take_all()
      ->excludes(rank);
  app.add_flag("--await-ranks", options.learner.await_ranks,
               "Wait for the other ranks (training.ranks), which are started with --rank, instead of starting them on "
               "this machine")
      ->excludes(rank);
}

void Require(bool given, const char* option) {
  if (!given) throw emplace::BadInput(emplace::StrCat(option, " is required (see --help)"));
}

int Train(const emplace::LearnerOptions& options) {
  Require(!options.config.empty(), "--config");
  Require(!options.run_dir.empty(), "--dir");
  emplace::NoteInterrupts();
  emplace::RaiseOpenFileLimit();  // Each actor has several connections.
  emplace::RunLearner(options, emplace::Interrupted());
  return 0;
}

int Follow(Options& options) {
  Require(!options.rank.leader.empty(), "--leader");
  Require(!options.rank_keys.empty(), "--keys");
  emplace::SetLogRole(emplace::StrCat("rank ", options.rank.rank));
  options.rank.keys = emplace::LoadRankKeys(options.rank_keys);
  // It ends when rank 0 does. A signal to all processes of the run is rank 0's to answer: it still needs the ranks for
  // the update under way.
  emplace::IgnoreInterrupts();
  emplace::RunRank(options.rank);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  emplace::SetLogRole("learner");
  return emplace::RunMain("emplace-learner", [&] {
    Options options;
    CLI::App app("Trains a placement policy on the episodes that actors send.");
    AddOptions(options, app);
    if (const std::optional<int> exit_code = emplace::ParseCommandLine(app, argc, argv)) return *exit_code;
    return options.rank.rank > 0 ? Follow(options) : Train(options.learner);
  });
}
