#include "simulator/environment/environment_config.h"

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr double kMany = 1e9;

const std::vector<std::pair<Start, std::string>>& StartNames() {
  static const std::vector<std::pair<Start, std::string>> names = {
      {Start::kRandom, "random"}, {Start::kSingle, "single"}, {Start::kBest, "best"}};
  return names;
}

const std::vector<std::pair<RewardUnit, std::string>>& RewardNames() {
  static const std::vector<std::pair<RewardUnit, std::string>> names = {
      {RewardUnit::kSeconds, "seconds"}, {RewardUnit::kLog, "log"}, {RewardUnit::kSqrt, "sqrt"}};
  return names;
}

template <typename E>
E FromText(const std::vector<std::pair<E, std::string>>& names, const std::string& text, const std::string& what) {
  std::vector<std::string> known;
  for (const auto& [value, name] : names) {
    if (name == text) return value;
    known.push_back(name);
  }
  throw BadInput(StrCat(what, " is '", text, "', expected one of ", Join(known, ", ")));
}

}  // namespace

std::string ToString(Start start) { return TextOf(start, StartNames()); }

Start StartFromText(const std::string& text, const std::string& what) { return FromText(StartNames(), text, what); }

RewardUnit RewardFromText(const std::string& text, const std::string& what) {
  return FromText(RewardNames(), text, what);
}

FieldTable<EnvironmentConfig> EnvironmentFields() {
  using C = EnvironmentConfig;
  FieldTable<C> t;
  t.Field("start", &C::start, StartNames())
      .Help(
          "Placement from which an episode starts: a random one, all ops on the best single device, or the best "
          "placement that the actor has seen.");
  t.Field("episodes_per_start", &C::episodes_per_start)
      .Range(1, 4096)
      .Help(
          "Number of consecutive episodes of an actor, or of an update in lockstep, that have the same graph and the "
          "same start, so that they can be compared with one another (training.baseline: batch).");
  t.Field("reward", &C::reward, RewardNames())
      .Help(
          "Measure whose decrease is the reward: the makespan in seconds, its natural logarithm, or its square root.");
  t.Field("memory_penalty", &C::memory_penalty)
      .Range(0, kMany)
      .Help("Memory penalty for each GB over the limit on the fullest device, in the unit of environment.reward.");
  t.Field("memory_penalty_cap", &C::memory_penalty_cap)
      .Range(0, kMany)
      .Help("Upper limit of the memory penalty, in the unit of environment.reward.");
  return t;
}

}  // namespace emplace
