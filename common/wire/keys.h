// The keys of a run: who holds one may talk to its learner, and nobody else can read what is said. They are CURVE keys
// (ZeroMQ RFC 26), 32 bytes each, as 40 characters of Z85 (RFC 32).
//
// `emplace keygen` makes a file for the learner and one for each group of actors. Secrets are in files that only their
// owner can read; they go into no log, no message and on no command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace emplace {

inline constexpr size_t kKeyBytes = 32;
inline constexpr size_t kKeyCharacters = 40;  // In Z85.

struct LearnerKeys {
  std::string public_key;
  std::string secret_key;
  std::vector<std::string> actors;  // Public keys of those that are let in.
};

struct ActorKeys {
  std::string public_key;
  std::string secret_key;
  std::string learner;  // Its public key: no other learner is talked to.
};

// Writes learner.keys and actor-0.keys to actor-(actors-1).keys into `folder`, which is made if it is not there, each
// with mode 0600. Throws BadInput when one is there already: new keys would lock out the actors of a run that goes on.
// Returns the files.
std::vector<std::filesystem::path> MakeRunKeys(const std::filesystem::path& folder, int64_t actors);

// Throw BadInput, naming the file: it is missing, damaged, of the other role, or others than its owner may read it.
LearnerKeys LoadLearnerKeys(const std::filesystem::path& path);
ActorKeys LoadActorKeys(const std::filesystem::path& path);

}  // namespace emplace
