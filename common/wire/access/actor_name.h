// The names that actors may have. They go into logs and JSON, so they are held to what every terminal and parser takes.
#pragma once

#include <string>
#include <string_view>

namespace emplace {

// Whether the learner lets an actor of this name join.
bool IsActorName(std::string_view name);

// What a name has to be, for errors: "1 to 300 printable ASCII characters without spaces".
std::string ActorNameRule();

}  // namespace emplace
