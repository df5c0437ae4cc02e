#include "common/wire/access/keys.h"

#include <sys/stat.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iomanip>
#include <sstream>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/format_version.h"
#include "common/files/json_text.h"
#include "common/strings.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr const char* kKeysFormat = "emplace.keys/1";
constexpr const char* kActorRole = "actor";
constexpr const char* kRankRole = "rank";
constexpr mode_t kOwnerOnly = 0600;

struct KeyPair {
  std::string public_key;
  std::string secret_key;
};

KeyPair NewPair() {
  std::array<char, kKeyCharacters + 1> public_key{};
  std::array<char, kKeyCharacters + 1> secret_key{};
  if (zmq_curve_keypair(public_key.data(), secret_key.data()) != 0) {
    throw RunFailed(StrCat("keys cannot be made: ", zmq_strerror(zmq_errno())));
  }
  return {public_key.data(), secret_key.data()};
}

std::string Octal(mode_t mode) {
  std::ostringstream text;
  text << std::oct << std::setw(4) << std::setfill('0') << mode;
  return text.str();
}

void CheckMode(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw BadInput(StrCat(path.string(), ": cannot be read: ", std::strerror(errno),
                          "; expected keys, as emplace keygen makes them"));
  }
  const mode_t mode = status.st_mode & 0777;
  if ((mode & 0077) != 0) {
    throw BadInput(StrCat(path.string(), ": mode is ", Octal(mode), ", expected 0600: only its owner may read keys"));
  }
}

std::string ReadKey(const nlohmann::json& file, const fs::path& path, const char* name) {
  const auto found = file.find(name);
  std::array<uint8_t, kKeyBytes> bytes{};
  // What a key is not shown, whatever is wrong with it.
  if (found == file.end() || !found->is_string() || found->get<std::string>().size() != kKeyCharacters ||
      zmq_z85_decode(bytes.data(), found->get<std::string>().c_str()) == nullptr) {
    throw BadInput(StrCat(path.string(), ": ", name, " is no key, expected ", kKeyCharacters, " characters of Z85"));
  }
  return found->get<std::string>();
}

bool HasText(const nlohmann::json& file, const char* name, const char* text) {
  const auto found = file.find(name);
  return found != file.end() && *found == text;
}

nlohmann::json ReadKeyFile(const fs::path& path, const char* role) {
  CheckMode(path);
  nlohmann::json file = ParseJson(ReadFile(path), path.string());
  if (!file.is_object() || !file.contains("format") || !file["format"].is_string()) {
    throw BadInput(StrCat(path.string(), ": the file has no format, expected ", kKeysFormat));
  }
  CheckFormat(file["format"].get<std::string>(), kKeysFormat, path.string());
  if (!HasText(file, "role", role))
    throw BadInput(StrCat(path.string(), ": the keys are for another role, expected \"role\": \"", role, "\""));
  return file;
}

// Writes new keys of one who talks to this learner. Returns their public key.
std::string WritePeerKeys(const fs::path& path, const char* role, const std::string& learner_public) {
  const KeyPair peer = NewPair();
  const OrderedJson file = {{"format", kKeysFormat},
                            {"role", role},
                            {"public", peer.public_key},
                            {"secret", peer.secret_key},
                            {"learner", learner_public}};
  WriteFileAtomically(path, file.dump(1) + "\n", kOwnerOnly);
  return peer.public_key;
}

ActorKeys LoadPeerKeys(const fs::path& path, const char* role) {
  const nlohmann::json file = ReadKeyFile(path, role);
  return {.public_key = ReadKey(file, path, "public"),
          .secret_key = ReadKey(file, path, "secret"),
          .learner = ReadKey(file, path, "learner")};
}

void WriteLearnerKeys(const fs::path& path, const LearnerKeys& keys) {
  const OrderedJson file = {{"format", kKeysFormat},
                            {"role", "learner"},
                            {"public", keys.public_key},
                            {"secret", keys.secret_key},
                            {"actors", keys.actors}};
  WriteFileAtomically(path, file.dump(1) + "\n", kOwnerOnly);
}

fs::path LearnerFile(const fs::path& folder) { return folder / "learner.keys"; }
fs::path ActorFile(const fs::path& folder, int64_t actor) { return folder / StrCat("actor-", actor, ".keys"); }

}  // namespace

std::vector<fs::path> MakeRunKeys(const fs::path& folder, int64_t actors) {
  EMPLACE_CHECK(actors >= 1);
  std::vector<fs::path> files = {LearnerFile(folder)};
  for (int64_t i = 0; i < actors; ++i) files.push_back(ActorFile(folder, i));
  for (const fs::path& file : files) {
    if (fs::exists(file))
      throw BadInput(StrCat(file.string(), ": the file exists already, expected a folder without keys"));
  }
  MakeFolder(folder);
  const KeyPair pair = NewPair();
  LearnerKeys learner{.public_key = pair.public_key, .secret_key = pair.secret_key, .actors = {}};
  for (size_t i = 1; i < files.size(); ++i)
    learner.actors.push_back(WritePeerKeys(files[i], kActorRole, learner.public_key));
  WriteLearnerKeys(files[0], learner);  // Last: where it is, the others are.
  return files;
}

std::vector<fs::path> AddActorKeys(const fs::path& folder, int64_t actors) {
  LearnerKeys learner = LoadLearnerKeys(LearnerFile(folder));
  std::vector<fs::path> added;
  for (int64_t i = 0; i < actors; ++i) {
    const fs::path file = ActorFile(folder, i);
    if (fs::exists(file)) {  // Perhaps of a call that was cut short before it wrote the learner's file.
      const std::string known = LoadActorKeys(file).public_key;
      if (std::ranges::find(learner.actors, known) == learner.actors.end()) learner.actors.push_back(known);
      continue;
    }
    learner.actors.push_back(WritePeerKeys(file, kActorRole, learner.public_key));
    added.push_back(file);
  }
  WriteLearnerKeys(LearnerFile(folder), learner);
  return added;
}

LearnerKeys MakeRankKeys(const fs::path& path) {
  const KeyPair leader = NewPair();
  const std::string rank = WritePeerKeys(path, kRankRole, leader.public_key);
  return {.public_key = leader.public_key, .secret_key = leader.secret_key, .actors = {rank}};
}

LearnerKeys LoadLearnerKeys(const fs::path& path) {
  const nlohmann::json file = ReadKeyFile(path, "learner");
  LearnerKeys keys{
      .public_key = ReadKey(file, path, "public"), .secret_key = ReadKey(file, path, "secret"), .actors = {}};
  const auto actors = file.find("actors");
  if (actors == file.end() || !actors->is_array() || actors->empty()) {
    throw BadInput(StrCat(path.string(), ": actors is missing, expected a list of their public keys"));
  }
  for (const nlohmann::json& actor : *actors) keys.actors.push_back(ReadKey({{"actors", actor}}, path, "actors"));
  return keys;
}

ActorKeys LoadActorKeys(const fs::path& path) { return LoadPeerKeys(path, kActorRole); }
ActorKeys LoadRankKeys(const fs::path& path) { return LoadPeerKeys(path, kRankRole); }

}  // namespace emplace
