#include "learner/actors/actor_owners.h"

#include "common/error.h"

namespace emplace {

bool ActorOwners::MayJoin(const std::string& name, const std::string& key) const {
  const auto owner = by_name_.find(name);
  return owner == by_name_.end() || owner->second == key;
}

void ActorOwners::NoteJoined(const std::string& name, uint32_t actor_id, const std::string& key) {
  EMPLACE_CHECK(MayJoin(name, key) && MaySpeakFor(actor_id, key));
  by_name_.emplace(name, key);
  by_id_.emplace(actor_id, key);
}

bool ActorOwners::MaySpeakFor(uint32_t actor_id, const std::string& key) const {
  const auto owner = by_id_.find(actor_id);
  return owner == by_id_.end() || owner->second == key;
}

}  // namespace emplace
