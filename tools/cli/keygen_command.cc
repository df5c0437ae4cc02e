#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/files/json_text.h"
#include "common/wire/access/keys.h"
#include "tools/cli/commands.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostActors = 10'000;

struct KeygenArguments {
  std::string folder;
  int64_t actors = 1;
  bool add = false;
  bool json = false;
};

int Keygen(const KeygenArguments& args) {
  std::vector<fs::path> files;
  if (args.add) {
    files = AddActorKeys(args.folder, args.actors);
    files.insert(files.begin(), fs::path(args.folder) / "learner.keys");
  } else {
    files = MakeRunKeys(args.folder, args.actors);
  }
  if (args.json) {
    nlohmann::ordered_json document = {{"learner", files[0].string()}, {"actors", nlohmann::ordered_json::array()}};
    for (size_t i = 1; i < files.size(); ++i) document["actors"].push_back(files[i].string());
    std::printf("%s\n", JsonLine(document).c_str());
    return 0;
  }
  std::printf("learner: --set network.keys=%s\n", files[0].c_str());
  for (size_t i = 1; i < files.size(); ++i) std::printf("actor:   EMPLACE_KEYS=%s\n", files[i].c_str());
  return 0;
}

}  // namespace

void AddKeygenCommand(CLI::App& app, std::function<int()>& run) {
  auto args = std::make_shared<KeygenArguments>();
  CLI::App* command = app.add_subcommand(
      "keygen", "Make the keys that encrypt a run: a file for its learner, and one for each node with actors");
  command
      ->add_option("folder", args->folder,
                   "Folder to write learner.keys, actor-0.keys, actor-1.keys, ... to; made if it is missing")
      ->required();
  command
      ->add_option("--actors", args->actors,
                   "Number of key files for actors; with one for each node, a single node can be locked out")
      ->check(CLI::Range(int64_t{1}, kMostActors))
      ->capture_default_str();
  command->add_flag("--add", args->add,
                    "Add key files to a folder that has some, up to --actors in all; the others stay as they are");
  command->add_flag("--json", args->json, "Print the names of the files as one JSON document");
  command->callback([args, &run] { run = [args] { return Keygen(*args); }; });
}

}  // namespace emplace
