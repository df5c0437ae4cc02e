// Which key speaks for which actor, so that a node whose key is let in cannot act in the name of another node's actors.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace emplace {

// A name, and the actor's id with it, belongs to the first key that joins under it, for as long as this learner process
// lives. Keys are public keys; in a run without keys all are empty, and so everybody may speak for everybody. Not
// thread-safe.
class ActorOwners {
 public:
  // Whether a process with this key may join under this name.
  bool MayJoin(const std::string& name, const std::string& key) const;
  // Notes that it did, and which id the name has. REQUIRES: it may.
  void NoteJoined(const std::string& name, uint32_t actor_id, const std::string& key);
  // Whether messages that come with this key may speak for this actor. For one that has not joined this process any key
  // may: its last episodes may come before it knows of a new learner.
  bool MaySpeakFor(uint32_t actor_id, const std::string& key) const;

 private:
  std::map<std::string, std::string> by_name_;
  std::map<uint32_t, std::string> by_id_;
};

}  // namespace emplace
