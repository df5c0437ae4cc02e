#include "policy/config/run_config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "common/error.h"
#include "common/error_place.h"
#include "common/files/file_io.h"
#include "common/strings.h"
#include "policy/config/config_reader.h"
#include "policy/config/config_sections.h"
#include "policy/policy_kind.h"
#include "policy/policy_kinds.h"
#include "simulator/families/family.h"

namespace emplace {
namespace {

constexpr char kShardsKey[] = "training.shards";

void ResolvePath(std::string& path, const std::filesystem::path& base) {
  if (!path.empty()) path = std::filesystem::absolute(base / path).lexically_normal().string();
}

// What no single field can check.
void CheckTogether(const RunConfig& config, const std::string& source) {
  const WorkloadConfig& workload = config.workload;
  if (workload.family.empty() && workload.train_graphs.empty()) {
    throw BadInput(StrCat(
        source,
        ": workload.family and workload.train_graphs are both empty, expected a family, or workload.train_graphs"));
  }
  if (!workload.family.empty() && !workload.train_graphs.empty()) {
    throw BadInput(
        StrCat(source,
               ": workload.family and workload.train_graphs are both given, expected one of them; family: \"\" chooses "
               "train_graphs"));
  }
  for (const auto& [name, graphs] :
       {std::pair("validation_graphs", &workload.validation_graphs), std::pair("test_graphs", &workload.test_graphs)}) {
    if (workload.family.empty() || graphs->empty()) continue;
    throw BadInput(StrCat(source, ": workload.family and workload.", name,
                          " are both given, expected one of them; a family makes its own validation and test graphs"));
  }
  if (!workload.family.empty() && !workload.endless()) {
    const std::vector<std::string> families = FamilyNames();
    if (std::ranges::find(families, workload.family) == families.end()) {
      throw BadInput(StrCat(source, ": workload.family is ", workload.family, DidYouMean(workload.family, families)));
    }
  }
  if (!workload.family.empty() && workload.train > workload.count) {
    throw BadInput(
        StrCat(source, ": workload.train is ", workload.train, ", expected at most workload.count, ", workload.count));
  }
  if (config.evaluation.patience == 1) {
    throw BadInput(
        StrCat(source, ": evaluation.patience is 1, expected 0 or at least 2, because one evaluation has no spread"));
  }
  if (const std::optional<std::string> why = WhyLimitsCross(config.instances, "instances.")) {
    throw BadInput(StrCat(source, ": ", *why));
  }
  // Throws for keys of the kind that do not go together, for any number of devices.
  WithPlace(source, [&] { return FindPolicyKind(config.policy.kind).Shape(config.policy, 1); });
  if (config.actor.heartbeat_s >= config.learner.actor_timeout_s) {
    throw BadInput(StrCat(source, ": actor.heartbeat_s is ", config.actor.heartbeat_s,
                          ", expected less than learner.actor_timeout_s, ", config.learner.actor_timeout_s,
                          ", after which a silent actor counts as gone"));
  }
  const TrainingConfig& training = config.training;
  const bool at_the_end = FindPolicyKind(config.policy.kind).reward_time() == RewardTime::kEnd;
  if (training.baseline == BaselineKind::kBatch && !at_the_end && config.environment.start != Start::kSingle &&
      config.environment.episodes_per_start < 2) {
    throw BadInput(StrCat(source,
                          ": environment.episodes_per_start is 1, expected at least 2 with training.baseline: batch, "
                          "which compares episodes of one start"));
  }
  if (training.lockstep() && config.environment.start == Start::kBest) {
    throw BadInput(StrCat(source,
                          ": environment.start is best, expected random or single with training.sync: lockstep, "
                          "because the best placement that an actor has seen depends on which episodes it has played"));
  }
  if (training.shards < training.ranks) {
    throw BadInput(StrCat(source, ": training.shards is ", training.shards, ", expected at least training.ranks, ",
                          training.ranks, ", because each rank computes one shard or more"));
  }
  if (training.entropy == EntropyGoal::kTarget && std::max(training.entropy_start, training.entropy_end) > 1) {
    throw BadInput(StrCat(source, ": training.entropy_start is ", training.entropy_start, " and training.entropy_end ",
                          training.entropy_end, ", expected at most 1 with training.entropy: target"));
  }
}

// What goes with training.objective evolution, and nothing else.
void CheckEvolution(const RunConfig& config, const std::string& source) {
  const TrainingConfig& training = config.training;
  const bool plans = FindPolicyKind(config.policy.kind).plans();
  if (plans != training.evolves()) {
    throw BadInput(StrCat(
        source, ": policy.kind is ", config.policy.kind, ", expected ",
        plans ? "training.objective: evolution, by which alone it is trained"
              : StrCat(Join(PolicyKindNames(&PolicyKind::plans), ", "), ", as training.objective is evolution")));
  }
  if (config.workload.endless() && !training.evolves()) {
    throw BadInput(
        StrCat(source, ": workload.family is ", kInstances, ", expected a family with any objective but evolution"));
  }
  if (!training.evolves()) return;
  if (!training.lockstep()) {
    throw BadInput(StrCat(source,
                          ": training.sync is async, expected lockstep with training.objective: evolution, since "
                          "a generation's candidates are compared with each other"));
  }
  if (training.ranks > 1) {
    throw BadInput(StrCat(source, ": training.ranks is ", training.ranks,
                          ", expected 1 with training.objective: evolution, whose updates take milliseconds"));
  }
  if (training.device == LearnerDevice::kCuda) {
    throw BadInput(StrCat(source,
                          ": training.device is cuda, expected auto or cpu with training.objective: evolution, which "
                          "computes no gradient"));
  }
  const EvolutionConfig& evolution = config.evolution;
  if (training.episodes_per_update % evolution.population != 0) {
    throw BadInput(StrCat(source, ": training.episodes_per_update is ", training.episodes_per_update,
                          ", expected a multiple of evolution.population, ", evolution.population,
                          ", because all candidates place the same problems"));
  }
  if (evolution.mirrored() && evolution.population % 2 != 0) {
    throw BadInput(StrCat(source, ": evolution.population is ", evolution.population,
                          ", expected an even number with evolution.algorithm: openai, which draws pairs"));
  }
  if (evolution.least_budget > evolution.most_budget) {
    throw BadInput(StrCat(source, ": evolution.least_budget is ", evolution.least_budget,
                          ", expected at most evolution.most_budget, ", evolution.most_budget));
  }
}

// A graph on which a policy is judged or chosen counts once, and is none that it is trained on. Paths are resolved.
void CheckGraphsAreApart(const WorkloadConfig& workload, const std::string& source) {
  std::map<std::string, const char*> list_of;
  for (const std::string& graph : workload.train_graphs) list_of.emplace(graph, "train_graphs");
  for (const auto& [name, graphs] :
       {std::pair("validation_graphs", &workload.validation_graphs), std::pair("test_graphs", &workload.test_graphs)}) {
    for (const std::string& graph : *graphs) {
      const auto [found, is_new] = list_of.emplace(graph, name);
      if (is_new) continue;
      throw BadInput(StrCat(source, ": workload.", name, " has '", graph, "', which workload.", found->second,
                            " has already, expected a graph that is in no list yet"));
    }
  }
}

void EmitValue(YAML::Emitter& out, const ConfigField::Value& value) {
  if (const auto* real = std::get_if<double>(&value)) {
    out << ShortestDouble(*real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    out << YAML::DoubleQuoted << *text;
  } else if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    out << YAML::Flow << YAML::BeginSeq;
    for (const std::string& item : *list) out << YAML::DoubleQuoted << item;
    out << YAML::EndSeq;
  } else {
    std::visit(
        [&](const auto& plain) {
          if constexpr (std::is_integral_v<std::decay_t<decltype(plain)>>) out << plain;
        },
        value);
  }
}

}  // namespace

RunConfig ParseRunConfig(std::string_view yaml, const std::string& source, const std::filesystem::path& base_folder,
                         const std::vector<std::string>& overrides) {
  RunConfig config;
  const std::set<std::string> given = ReadConfig(yaml, source, config);
  for (const bool deciding : {true, false}) {
    for (const std::string& text : overrides) {
      if (DecidesKeys(OverriddenKey(text)) == deciding) ApplyOverride(text, config);
    }
  }
  const auto is_shards = [](const std::string& text) { return OverriddenKey(text) == kShardsKey; };
  if (!given.contains(kShardsKey) && std::none_of(overrides.begin(), overrides.end(), is_shards)) {
    config.training.shards = config.training.ranks;
  }
  CheckTogether(config, source);
  CheckEvolution(config, source);
  ResolvePath(config.workload.devices, base_folder);
  ResolvePath(config.policy.initial, base_folder);
  ResolvePath(config.instances.corpus, base_folder);
  for (auto* const paths :
       {&config.workload.train_graphs, &config.workload.validation_graphs, &config.workload.test_graphs}) {
    for (std::string& path : *paths) ResolvePath(path, base_folder);
  }
  CheckGraphsAreApart(config.workload, source);
  return config;
}

RunConfig LoadRunConfig(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  return ParseRunConfig(ReadFile(path), path.string(), path.parent_path(), overrides);
}

std::string RunConfigToYaml(const RunConfig& config) {
  RunConfig copy = config;  // Sections hand out mutable parts.
  YAML::Emitter out;
  out << YAML::BeginMap;
  for (const ConfigSection& section : ConfigSections()) {
    if (!section.name.empty()) out << YAML::Key << section.name << YAML::Value << YAML::BeginMap;
    for (const ConfigField& field : section.fields(config)) {
      out << YAML::Key << field.name << YAML::Value;
      EmitValue(out, field.get(section.part(copy)));
      out << YAML::Comment(field.help);
    }
    if (!section.name.empty()) out << YAML::EndMap;
  }
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

std::string RunConfigHelp() {
  std::string text;
  const auto add = [&](const ConfigSection& section, const ConfigField& field, RunConfig& defaults,
                       const std::string& where) {
    const ConfigField::Value value = field.get(section.part(defaults));
    YAML::Emitter shown;
    EmitValue(shown, value);
    text += StrCat("  ", FullName(section, field.name), " = ", shown.c_str(), "  (", field.Expected(value), where,
                   ")  ", field.help, "\n");
  };
  for (const ConfigSection& section : ConfigSections()) {
    RunConfig defaults;
    if (section.name != "policy") {
      for (const ConfigField& field : section.fields(defaults)) add(section, field, defaults, "");
      continue;
    }
    const std::vector<ConfigField> of_all = FieldsOfEveryKind();
    for (const ConfigField& field : of_all) add(section, field, defaults, "");
    for (const std::string& kind : PolicyKindNames()) {
      defaults.policy.kind = kind;
      for (const ConfigField& field : FieldsOfKind(kind)) {
        add(section, field, defaults, StrCat("; of policy.kind ", kind));
      }
    }
  }
  return text;
}

}  // namespace emplace
