#include "policy/config/config_sections.h"

#include <map>
#include <utility>

#include "policy/policy_kind.h"
#include "policy/policy_kinds.h"

namespace emplace {
namespace {

FieldTable<RunConfig> RunFields() {
  FieldTable<RunConfig> t;
  t.Field("name", &RunConfig::name).Help("Name of the run, for policy.safetensors and for reports.");
  t.Field("seed", &RunConfig::seed)
      .Help(
          "Random seed of the run: weights, start placements, actions and sampled states follow from it. The generated "
          "graphs have workload.seed.");
  return t;
}

// The keys of every kind. Those of the configuration's own kind come after them.
FieldTable<PolicyConfig> PolicyFields() {
  using C = PolicyConfig;
  FieldTable<C> t;
  t.Field("kind", &C::kind)
      .Choices(PolicyKindNames())
      .Help("Architecture of the policy, which decides what other keys this section has.");
  t.Field("initial", &C::initial)
      .Help(
          "policy.safetensors from which training starts, as for fine-tuning; its network shape replaces the keys "
          "below. A relative path starts at the configuration's folder. Empty: a new network.");
  return t;
}

template <typename C>
ConfigSection MakeSection(const std::string& name, const FieldTable<C>& table, C RunConfig::*part) {
  return {name, [fields = table.fields()](const RunConfig& /*config*/) { return fields; },
          [part](RunConfig& config) -> void* { return &(config.*part); }};
}

ConfigSection PolicySection() {
  ConfigSection section = MakeSection("policy", PolicyFields(), &RunConfig::policy);
  section.fields = [](const RunConfig& config) {
    std::vector<ConfigField> fields = PolicyFields().fields();
    // Another kind has other keys: what was given for the one before means nothing to it.
    fields.front().set = [set = fields.front().set](void* part, const ConfigField::Value& value) {
      auto* const policy = static_cast<PolicyConfig*>(part);
      const std::string before = policy->kind;
      set(part, value);
      if (policy->kind != before) policy->own.clear();
    };
    for (ConfigField& field : FieldsOfKind(config.policy.kind)) fields.push_back(std::move(field));
    return fields;
  };
  return section;
}

}  // namespace

std::vector<ConfigField> FieldsOfEveryKind() { return PolicyFields().fields(); }

std::vector<ConfigField> FieldsOfKind(const std::string& name) {
  const PolicyKind& kind = FindPolicyKind(name);
  std::vector<ConfigField> fields = kind.fields();
  const std::map<std::string, ConfigField::Value> defaults = kind.Defaults();
  for (ConfigField& field : fields) {
    field.get = [key = field.name, otherwise = defaults.at(field.name)](const void* section) {
      const auto& own = static_cast<const PolicyConfig*>(section)->own;
      const auto value = own.find(key);
      return value == own.end() ? otherwise : value->second;
    };
    field.set = [key = field.name](void* section, const ConfigField::Value& value) {
      static_cast<PolicyConfig*>(section)->own[key] = value;
    };
  }
  return fields;
}

const std::vector<ConfigSection>& ConfigSections() {
  static const std::vector<ConfigSection> sections = {
      {"", [](const RunConfig& /*config*/) { return RunFields().fields(); },
       [](RunConfig& config) -> void* { return &config; }},
      MakeSection("workload", WorkloadFields(), &RunConfig::workload),
      MakeSection("grouping", GroupingFields(), &RunConfig::grouping),
      MakeSection("environment", EnvironmentFields(), &RunConfig::environment),
      PolicySection(),
      MakeSection("training", TrainingFields(), &RunConfig::training),
      MakeSection("evolution", EvolutionFields(), &RunConfig::evolution),
      MakeSection("instances", InstanceFields(), &RunConfig::instances),
      MakeSection("actor", ActorFields(), &RunConfig::actor),
      MakeSection("learner", LearnerFields(), &RunConfig::learner),
      MakeSection("hardware", HardwareFields(), &RunConfig::hardware),
      MakeSection("evaluation", EvaluationFields(), &RunConfig::evaluation),
      MakeSection("checkpoint", CheckpointFields(), &RunConfig::checkpoint),
      MakeSection("network", NetworkFields(), &RunConfig::network),
  };
  return sections;
}

bool DecidesKeys(const std::string& full_name) { return full_name == "policy.kind"; }

std::string FullName(const ConfigSection& section, const std::string& key) {
  return section.name.empty() ? key : section.name + "." + key;
}

std::vector<std::string> FieldNames(const ConfigSection& section, const RunConfig& config) {
  std::vector<std::string> names;
  for (const ConfigField& field : section.fields(config)) names.push_back(field.name);
  if (section.name.empty()) {
    for (const ConfigSection& other : ConfigSections()) {
      if (!other.name.empty()) names.push_back(other.name);
    }
  }
  return names;
}

std::optional<ConfigField> FindField(const ConfigSection& section, const std::string& key, const RunConfig& config) {
  for (ConfigField& field : section.fields(config)) {
    if (field.name == key) return std::move(field);
  }
  return std::nullopt;
}

}  // namespace emplace
