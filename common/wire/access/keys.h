// The keys of a run. Only processes that hold one can talk to the run's learner, and nobody else can read the messages.
// A key is a CURVE key (ZeroMQ RFC 26) of 32 bytes, written as 40 characters of Z85 (RFC 32).
//
// `emplace keygen` makes a file for the learner and one for each group of actors. Secret keys are only in files that
// nobody but their owner can read; they never appear in a log, a message or a command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace emplace {

inline constexpr size_t kKeyBytes = 32;
inline constexpr size_t kKeyCharacters = 40;  // Length of a key in Z85.

struct LearnerKeys {
  std::string public_key;
  std::string secret_key;
  std::vector<std::string> actors;  // Public keys of the actors that are let in.
};

struct ActorKeys {
  std::string public_key;
  std::string secret_key;
  std::string learner;  // The learner's public key; the actor talks to no other learner.
};

// Writes learner.keys and actor-0.keys to actor-(actors-1).keys, each with mode 0600, into `folder`, which is made if
// it does not exist. Returns the paths of the files. Throws BadInput when one of them exists, because new keys would
// lock out the actors of a run that is under way.
std::vector<std::filesystem::path> MakeRunKeys(const std::filesystem::path& folder, int64_t actors);

// Makes keys for further nodes of a run that has keys: the files actor-N.keys for the numbers up to actors-1 that have
// none, and lets them in. Those that are there stay as they are. Returns the paths of the new files. Throws BadInput
// when the learner's keys are missing or damaged.
std::vector<std::filesystem::path> AddActorKeys(const std::filesystem::path& folder, int64_t actors);

// Makes new keys for the ranks of a learner: writes those of ranks other than 0 to `path`, with mode 0600, over what is
// there, and returns those of rank 0, which are in no file.
LearnerKeys MakeRankKeys(const std::filesystem::path& path);

// Throw BadInput, which names the file, when it is missing or damaged, is for the other role, or can be read by others
// than its owner.
LearnerKeys LoadLearnerKeys(const std::filesystem::path& path);
ActorKeys LoadActorKeys(const std::filesystem::path& path);
ActorKeys LoadRankKeys(const std::filesystem::path& path);

}  // namespace emplace
