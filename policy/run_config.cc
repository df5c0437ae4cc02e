#include "policy/run_config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "common/config/field_table.h"
#include "common/error.h"
#include "common/files/file_io.h"
#include "common/strings.h"
#include "policy/policy_kind.h"
#include "policy/policy_kinds.h"

namespace emplace {
namespace {

constexpr double kMany = 1e9;
constexpr char kShardsKey[] = "training.shards";

FieldTable<RunConfig> RunFields() {
  FieldTable<RunConfig> t;
  t.Field("name", &RunConfig::name).Help("Name of the run, for policy.safetensors and for reports.");
  t.Field("seed", &RunConfig::seed)
      .Help(
          "Random seed of the run: weights, start placements, actions and sampled states follow from it. The generated "
          "graphs have workload.seed.");
  return t;
}

FieldTable<WorkloadConfig> WorkloadFields() {
  using C = WorkloadConfig;
  FieldTable<C> t;
  t.Field("family", &C::family)
      .Help(
          "Family of graphs, or single network, that is generated, such as ptb or nasnet; `emplace generate --help` "
          "lists all names. Empty: the graphs are read from workload.train_graphs.");
  t.Field("count", &C::count).Range(1, 10000).Help("Number of generated graphs, training and test graphs together.");
  t.Field("train", &C::train)
      .Range(1, 10000)
      .Help("Number of generated graphs that are training graphs; the others are test graphs.");
  t.Field("validation", &C::validation)
      .Range(0, 10000)
      .Help(
          "Number of further generated graphs, on which the best policy is chosen. 0: it is chosen on the training "
          "graphs.");
  t.Field("seed", &C::seed).Help("Random seed from which the family's graphs are generated.");
  t.Field("size", &C::size)
      .Choices({"full", "small"})
      .Help("Size of the generated networks: full, or small (narrow and short) for quick tests.");
  t.Field("dtype", &C::dtype)
      .Choices({"f32", "f16"})
      .Help("Number format of parameters and activations in the generated graphs.");
  t.Field("calls", &C::calls)
      .Help(
          "Whether the ops of the generated graphs say which operators of PyTorch they are, so that hardware actors "
          "can "
          "run them. Not all families have this.");
  t.Field("ranges", &C::ranges).Help("Ranges that replace the family's own, such as 'steps=10..20'.");
  t.Field("train_graphs", &C::train_graphs)
      .Help("Graph files to train on, in place of a family. Relative paths start at the configuration's folder.");
  t.Field("validation_graphs", &C::validation_graphs)
      .Help(
          "Graph files on which the best policy is chosen. Empty: of ten training graphs or more every fifth is held "
          "out for "
          "it; of fewer none is, and the last policy is taken; with one training graph the best policy on it.");
  t.Field("test_graphs", &C::test_graphs)
      .Help("Graph files on which the policy is judged and which training does not use.");
  t.Field("devices", &C::devices)
      .Help("YAML file of the machine: devices and links. A relative path starts at the configuration's folder.");
  return t;
}

FieldTable<GroupingConfig> GroupingFields() {
  FieldTable<GroupingConfig> t;
  t.Field("max_groups", &GroupingConfig::max_groups)
      .Range(0, 100000)
      .Help(
          "Upper limit of the groups into which a graph's ops are merged, and so of the decisions of an episode. 0: "
          "every op is decided on by itself, but for ops that have to be together.");
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

FieldTable<TrainingConfig> TrainingFields() {
  using C = TrainingConfig;
  FieldTable<C> t;
  t.Field("sync", &C::sync, {{Sync::kAsync, "async"}, {Sync::kLockstep, "lockstep"}})
      .Help(
          "async: actors go on while the learner computes, and importance weights correct the lag. lockstep: each "
          "update uses only episodes of its own version, so a seed gives the same policy bit for bit.");
  t.Field("iterations", &C::iterations).Range(1, kMany).Help("Number of policy updates after which training ends.");
  t.Field("max_minutes", &C::max_minutes)
      .Range(0, 1e6)
      .Help("Wall time in minutes after which training ends. 0: no limit.");
  t.Field("objective", &C::objective, {{TrainingObjective::kReinforce, "reinforce"}, {TrainingObjective::kPpo, "ppo"}})
      .Help(
          "Loss that an update minimizes: reinforce, with importance weights up to importance_clip, or ppo, which "
          "leaves out what has moved further than proximal_clip already and so allows several epochs.");
  t.Field("episodes_per_update", &C::episodes_per_update)
      .Range(1, 4096)
      .Help("Number of episodes in the batch of one update (B).");
  t.Field("max_states_per_update", &C::max_states_per_update)
      .Range(0, kMany)
      .Help("Number of states drawn from the batch's episodes for one update. 0: all states.");
  t.Field("discount", &C::discount)
      .Range(0.01, 1.0)
      .Help(
          "Factor that multiplies a reward once for each step between an action and that reward. Below 1, an action "
          "answers for the "
          "next steps only, with less noise.");
  t.Field("baseline", &C::baseline, {{BaselineKind::kGraph, "graph"}, {BaselineKind::kBatch, "batch"}})
      .Help(
          "Episodes whose mean return is the baseline of an episode: graph, the recent ones on its graph, or batch, "
          "the "
          "other ones of its batch that have its graph and its start (environment.episodes_per_start).");
  t.Field("baseline_window", &C::baseline_window)
      .Range(1, 10000)
      .Help(
          "Number of recent episodes whose returns are averaged for the baseline of a graph's step, with baseline "
          "graph.");
  t.Field("epochs", &C::epochs)
      .Range(1, 1000)
      .Help(
          "Number of optimizer steps on each batch; from the second on, importance weights correct for the steps "
          "before.");
  t.Field("normalize_advantages", &C::normalize_advantages,
          {{AdvantageUnit::kNone, "none"}, {AdvantageUnit::kBatch, "batch"}, {AdvantageUnit::kGraph, "graph"}})
      .Help(
          "Divisor of the advantages: none, the standard deviation over the batch, or for each graph the root mean "
          "square of its recent advantages.");
  t.Field("imitated_episodes", &C::imitated_episodes)
      .Range(0, 4096)
      .Help(
          "Number of best episodes so far that each update repeats beside its batch; their graphs are drawn at "
          "random.");
  t.Field("imitation_weight", &C::imitation_weight)
      .Range(0, kMany)
      .Help(
          "Advantage given to each step of an imitated episode. A batch's normalized advantages have a standard "
          "deviation of 1.");
  t.Field("entropy", &C::entropy, {{EntropyGoal::kWeight, "weight"}, {EntropyGoal::kTarget, "target"}})
      .Help(
          "Meaning of entropy_start and entropy_end: the weight of the entropy bonus, or the target of the policy's "
          "entropy as a share of the largest possible entropy.");
  t.Field("entropy_start", &C::entropy_start)
      .Range(0, 100)
      .Help("Weight or target of the entropy (training.entropy says which) at the first update.");
  t.Field("entropy_end", &C::entropy_end)
      .Range(0, 100)
      .Help("Weight or target of the entropy (training.entropy says which) after entropy_decay_updates updates.");
  t.Field("entropy_decay_updates", &C::entropy_decay_updates)
      .Range(1, kMany)
      .Help("Number of updates over which the entropy's weight or target goes from entropy_start to entropy_end.");
  t.Field("logits_noise", &C::logits_noise)
      .Range(0, 100)
      .Help(
          "Standard deviation of the noise that actors add to logits before they draw, at the first update. 0: none.");
  t.Field("logits_noise_decay_updates", &C::logits_noise_decay_updates)
      .Range(1, kMany)
      .Help("Number of updates over which the noise of logits falls to 0.");
  t.Field("learning_rate", &C::learning_rate).Range(0, 1).Help("Adam's learning rate at the first update.");
  t.Field("learning_rate_end", &C::learning_rate_end)
      .Range(0, 1)
      .Help("Adam's learning rate after learning_rate_decay_updates updates.");
  t.Field("learning_rate_decay_updates", &C::learning_rate_decay_updates)
      .Range(1, kMany)
      .Help("Number of updates over which Adam's learning rate goes from learning_rate to learning_rate_end.");
  t.Field("gradient_clip", &C::gradient_clip)
      .Range(1e-9, kMany)
      .Help("Upper limit of the gradient's global norm; a longer gradient is scaled down to it.");
  t.Field("max_lag", &C::max_lag)
      .Range(0, 1e6)
      .Help(
          "Largest lag of an episode, in policy versions, with which it is still learned from; an older episode is "
          "dropped as stale.");
  t.Field("importance_clip", &C::importance_clip)
      .Range(1, kMany)
      .Help("Upper limit of a step's importance weight, with objective reinforce.");
  t.Field("proximal_clip", &C::proximal_clip)
      .Range(0.001, 0.999)
      .Help(
          "With objective ppo: how far an action's probability, over that of the behaviour policy, may be from 1 "
          "before "
          "the action is left out.");
  t.Field("ranks", &C::ranks)
      .Range(1, 256)
      .Help(
          "Number of learner processes, called ranks, that compute each update together: each has its part of the "
          "shards, and with a GPU each has a GPU of its own. The result has the same bits for any number of ranks with "
          "the same shards.");
  t.Field("shards", &C::shards)
      .Range(1, 1024)
      .Help(
          "Number of parts in which an update's gradient is computed, and which are then added in a fixed order, so "
          "that the result is the same whichever rank computes which part. At least training.ranks. Not given: as "
          "many as training.ranks.");
  t.Field("device", &C::device,
          {{LearnerDevice::kAuto, "auto"}, {LearnerDevice::kCpu, "cpu"}, {LearnerDevice::kCuda, "cuda"}})
      .Help("Processor on which the learner computes its updates. auto: the GPU where there is one.");
  return t;
}

FieldTable<ActorConfig> ActorFields() {
  using C = ActorConfig;
  FieldTable<C> t;
  t.Field("episodes_in_flight", &C::episodes_in_flight)
      .Range(1, 1024)
      .Help("Number of episodes that one actor rolls out at the same time.");
  t.Field("send_queue", &C::send_queue)
      .Range(1, 100000)
      .Help(
          "Number of finished trajectories that an actor keeps for sending; when the queue is full, the actor pauses.");
  t.Field("heartbeat_s", &C::heartbeat_s).Range(0.01, 3600).Help("Seconds between two heartbeats of an actor.");
  t.Field("patience_s", &C::patience_s)
      .Range(0.1, 1e7)
      .Help("Seconds that an actor waits for a learner that does not answer, before the actor ends.");
  return t;
}

FieldTable<LearnerConfig> LearnerFields() {
  using C = LearnerConfig;
  FieldTable<C> t;
  t.Field("buffer", &C::buffer)
      .Range(1, 1e6)
      .Help(
          "Number of received trajectories that may wait for an update; when the buffer is full, actors have to wait. "
          "A small buffer keeps the lag small.");
  t.Field("check_threads", &C::check_threads)
      .Range(1, 256)
      .Help("Number of threads that simulate the final placement of every episode to confirm its makespan.");
  t.Field("actor_timeout_s", &C::actor_timeout_s)
      .Range(0.1, 1e6)
      .Help("Seconds of silence after which an actor counts as gone.");
  t.Field("progress_s", &C::progress_s).Range(0.1, 1e6).Help("Seconds between two progress lines.");
  t.Field("watchdog_s", &C::watchdog_s)
      .Range(0, 1e6)
      .Help(
          "If a stage makes no progress, or no actor finishes an episode, for this many seconds, the run fails and "
          "names the stage. 0: no limit.");
  return t;
}

FieldTable<HardwareConfig> HardwareFields() {
  using C = HardwareConfig;
  FieldTable<C> t;
  t.Field("warmup", &C::warmup)
      .Range(0, 1000)
      .Help("Number of steps that are run before the timed ones, each time a window goes over to another placement.");
  t.Field("steps", &C::steps)
      .Range(2, 1000)
      .Help(
          "Number of timed steps of a placement; as many of the reference placement, the best single device, are timed "
          "around them in the same window.");
  t.Field("outliers", &C::outliers, {{StepCenter::kMedian, "median"}, {StepCenter::kTukey, "tukey"}})
      .Help(
          "What stands for the timed steps: their median, or tukey, the mean of those that are at most 1.5 "
          "interquartile ranges outside of the quartiles.");
  t.Field("window_s", &C::window_s)
      .Range(0.001, 1)
      .Help(
          "Seconds after which a measuring window ends with the steps that it has, at least one of each placement. "
          "Other work on the computer pauses while a window is open.");
  t.Field("share", &C::share)
      .Range(0.01, 1)
      .Help(
          "Largest share of the time for which a hardware actor keeps windows open; between two it lets other work go "
          "on.");
  t.Field("timeout_s", &C::timeout_s)
      .Range(0.1, 3600)
      .Help("Seconds after which a placement that is being measured counts as one that hangs.");
  t.Field("penalty", &C::penalty)
      .Range(1, 1000)
      .Help(
          "Measured makespan of a placement that fails or hangs, as a multiple of the graph's makespan on the best "
          "single device; also the upper limit of the makespan of any placement.");
  t.Field("recheck", &C::recheck)
      .Range(0, 1)
      .Help(
          "Share of the episodes with measured rewards for which the learner has another hardware actor measure one of "
          "the placements again. Without another one they stay unverified.");
  t.Field("tolerance", &C::tolerance)
      .Range(1.01, 100)
      .Help(
          "Factor by which two measurements of one placement may differ; if they differ by more, the episode is "
          "rejected.");
  return t;
}

FieldTable<EvaluationConfig> EvaluationFields() {
  FieldTable<EvaluationConfig> t;
  t.Field("every", &EvaluationConfig::every)
      .Range(0, kMany)
      .Help("Number of updates between two evaluations. 0: only one evaluation, at the end.");
  t.Field("final_policy", &EvaluationConfig::final_policy, {{FinalPolicy::kBest, "best"}, {FinalPolicy::kLast, "last"}})
      .Help(
          "Which policy a run ends with: best, of all evaluations on the validation graphs; or last, for evaluations "
          "are simulated, and of what was learned from measured rewards they know nothing.");
  t.Field("patience", &EvaluationConfig::patience)
      .Range(0, 1e6)
      .Help(
          "Number of evaluations in each of two windows. Training stops when the latest window certainly gains less "
          "than min_gain over the one before it. 0: training never stops so.");
  t.Field("min_gain", &EvaluationConfig::min_gain)
      .Range(0, 1)
      .Help("Gain that is worth training on for, as a share of the makespan: 0.01 is one percent.");
  return t;
}

FieldTable<CheckpointConfig> CheckpointFields() {
  using C = CheckpointConfig;
  FieldTable<C> t;
  t.Field("every", &C::every).Range(1, kMany).Help("Number of updates between two checkpoints.");
  t.Field("keep", &C::keep)
      .Range(1, 1e6)
      .Help("Number of latest checkpoints that are kept; the best policy is kept besides.");
  return t;
}

FieldTable<NetworkConfig> NetworkFields() {
  using C = NetworkConfig;
  FieldTable<C> t;
  t.Field("bind", &C::bind)
      .Help(
          "IPv4 address on which the learner listens; 0.0.0.0 means all addresses of its machine. Any address but "
          "loopback needs network.keys.");
  t.Field("advertise", &C::advertise)
      .Help(
          "Host name or address that actors are told. Empty: the same as network.bind, or the machine's name where "
          "that is 0.0.0.0.");
  t.Field("port", &C::port)
      .Range(0, 65534)
      .Help(
          "Port for control messages; the next port is for trajectories. 0: the system chooses free "
          "ports, which learner.json in the run directory names.");
  t.Field("keys", &C::keys)
      .Help(
          "File learner.keys that emplace keygen has made. Empty: nothing is encrypted, and only processes on this "
          "machine can connect.");
  return t;
}

struct Section {
  std::string name;  // Empty: the top level.
  std::function<std::vector<ConfigField>(const RunConfig&)> fields;
  std::function<void*(RunConfig&)> part;
};

template <typename C>
Section MakeSection(const std::string& name, const FieldTable<C>& table, C RunConfig::*part) {
  return {name, [fields = table.fields()](const RunConfig& /*config*/) { return fields; },
          [part](RunConfig& config) -> void* { return &(config.*part); }};
}

// The keys that only this kind has. Their values are in a PolicyConfig by name.
std::vector<ConfigField> OwnFields(const PolicyKind& kind) {
  std::vector<ConfigField> fields = kind.fields();
  const std::map<std::string, ConfigField::Value> defaults = kind.Defaults();
  for (ConfigField& field : fields) {
    field.get = [name = field.name, otherwise = defaults.at(field.name)](const void* section) {
      const auto& own = static_cast<const PolicyConfig*>(section)->own;
      const auto value = own.find(name);
      return value == own.end() ? otherwise : value->second;
    };
    field.set = [name = field.name](void* section, const ConfigField::Value& value) {
      static_cast<PolicyConfig*>(section)->own[name] = value;
    };
  }
  return fields;
}

Section PolicySection() {
  Section section = MakeSection("policy", PolicyFields(), &RunConfig::policy);
  section.fields = [](const RunConfig& config) {
    std::vector<ConfigField> fields = PolicyFields().fields();
    // Another kind has other keys: what was given for the one before means nothing to it.
    fields.front().set = [set = fields.front().set](void* part, const ConfigField::Value& value) {
      set(part, value);
      static_cast<PolicyConfig*>(part)->own.clear();
    };
    for (ConfigField& field : OwnFields(FindPolicyKind(config.policy.kind))) fields.push_back(std::move(field));
    return fields;
  };
  return section;
}

const std::vector<Section>& Sections() {
  static const std::vector<Section> sections = {
      {"", [](const RunConfig& /*config*/) { return RunFields().fields(); },
       [](RunConfig& config) -> void* { return &config; }},
      MakeSection("workload", WorkloadFields(), &RunConfig::workload),
      MakeSection("grouping", GroupingFields(), &RunConfig::grouping),
      MakeSection("environment", EnvironmentFields(), &RunConfig::environment),
      PolicySection(),
      MakeSection("training", TrainingFields(), &RunConfig::training),
      MakeSection("actor", ActorFields(), &RunConfig::actor),
      MakeSection("learner", LearnerFields(), &RunConfig::learner),
      MakeSection("hardware", HardwareFields(), &RunConfig::hardware),
      MakeSection("evaluation", EvaluationFields(), &RunConfig::evaluation),
      MakeSection("checkpoint", CheckpointFields(), &RunConfig::checkpoint),
      MakeSection("network", NetworkFields(), &RunConfig::network),
  };
  return sections;
}

// Whether other keys of its section exist or not by the value of this one.
bool DecidesKeys(const std::string& full_name) { return full_name == "policy.kind"; }

std::string FullName(const Section& section, const std::string& key) {
  return section.name.empty() ? key : section.name + "." + key;
}

std::vector<std::string> FieldNames(const Section& section, const RunConfig& config) {
  std::vector<std::string> names;
  for (const ConfigField& field : section.fields(config)) names.push_back(field.name);
  if (section.name.empty()) {
    for (const Section& other : Sections()) {
      if (!other.name.empty()) names.push_back(other.name);
    }
  }
  return names;
}

std::optional<ConfigField> FindField(const Section& section, const std::string& key, const RunConfig& config) {
  for (ConfigField& field : section.fields(config)) {
    if (field.name == key) return std::move(field);
  }
  return std::nullopt;
}

// The node as the kind of value that the field holds; throws YAML::BadConversion where it is none.
ConfigField::Value Convert(const YAML::Node& node, const ConfigField::Value& like) {
  if (std::holds_alternative<std::vector<std::string>>(like)) {
    if (node.IsNull()) return std::vector<std::string>();
    return node.as<std::vector<std::string>>();
  }
  if (node.IsNull() && std::holds_alternative<std::string>(like)) return std::string();
  if (!node.IsScalar()) throw YAML::BadConversion(node.Mark());
  return std::visit([&](const auto& sample) { return ConfigField::Value(node.as<std::decay_t<decltype(sample)>>()); },
                    like);
}

// The resolved file could not hold other text.
bool HoldsUnicodeText(const ConfigField::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return IsUnicodeText(*text);
  const auto* list = std::get_if<std::vector<std::string>>(&value);
  return list == nullptr ||
         std::all_of(list->begin(), list->end(), [](const std::string& item) { return IsUnicodeText(item); });
}

std::string Shown(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  return node.IsMap() ? "a map" : node.IsSequence() ? "a list" : "empty";
}

void SetField(const Section& section, const ConfigField& field, const YAML::Node& node, const std::string& place,
              RunConfig& config) {
  void* const part = section.part(config);
  const ConfigField::Value current = field.get(part);
  const std::string complaint = StrCat(place, ": ", FullName(section, field.name), " is ", Shown(node), ", expected ");
  ConfigField::Value value;
  try {
    value = Convert(node, current);
  } catch (const YAML::BadConversion&) {
    throw BadInput(complaint + field.Expected(current));
  }
  const std::string expected = field.Check(value);
  if (!expected.empty()) throw BadInput(complaint + expected);
  if (!HoldsUnicodeText(value)) throw BadInput(complaint + field.Expected(current) + " in UTF-8");
  field.set(part, value);
}

class ConfigReader {
 public:
  ConfigReader(const std::string& source, RunConfig& config) : source_(source), config_(config) {}

  // Whether the text had this key, "section.key".
  bool Has(const std::string& full_name) const { return seen_.contains(full_name); }

  void Read(const YAML::Node& root) {
    if (root.IsNull()) return;  // An empty file is all defaults.
    if (!root.IsMap())
      throw BadInput(StrCat(Place(root), ": the configuration is ", Shown(root), ", expected a map of sections"));
    for (const auto& entry : root) {
      const std::string key = Key(entry.first);
      const Section* const section = FindSection(key);
      if (section != nullptr) {
        CheckFirst(key, entry.first);
        ReadSection(*section, entry.second);
      } else {
        ReadField(Sections().front(), entry.first, entry.second);
      }
    }
  }

 private:
  std::string Place(const YAML::Node& node) const {
    return StrCat(source_, ":", node.Mark().line + 1, ":", node.Mark().column + 1);
  }
  std::string Key(const YAML::Node& node) const {
    if (!node.IsScalar()) throw BadInput(StrCat(Place(node), ": a key is ", Shown(node), ", expected a name"));
    return node.Scalar();
  }
  static const Section* FindSection(const std::string& name) {
    for (const Section& section : Sections()) {
      if (!section.name.empty() && section.name == name) return &section;
    }
    return nullptr;
  }
  void ReadSection(const Section& section, const YAML::Node& node) {
    if (node.IsNull()) return;
    if (!node.IsMap()) throw BadInput(StrCat(Place(node), ": ", section.name, " is ", Shown(node), ", expected a map"));
    // First what decides which other keys there are.
    for (const auto& entry : node) {
      if (DecidesKeys(FullName(section, Key(entry.first)))) ReadField(section, entry.first, entry.second);
    }
    for (const auto& entry : node) {
      if (!DecidesKeys(FullName(section, Key(entry.first)))) ReadField(section, entry.first, entry.second);
    }
  }
  void ReadField(const Section& section, const YAML::Node& key_node, const YAML::Node& value) {
    const std::string key = Key(key_node);
    const std::optional<ConfigField> field = FindField(section, key, config_);
    if (!field) {
      throw BadInput(StrCat(Place(key_node), ": unknown key '", FullName(section, key), "'",
                            DidYouMean(key, FieldNames(section, config_))));
    }
    CheckFirst(FullName(section, key), key_node);
    SetField(section, *field, value, Place(value), config_);
  }
  // YAML allows a key twice, where one of the two values would be lost.
  void CheckFirst(const std::string& name, const YAML::Node& key) {
    if (!seen_.insert(name).second) throw BadInput(StrCat(Place(key), ": '", name, "' is given twice, expected once"));
  }

  const std::string& source_;
  RunConfig& config_;
  std::set<std::string> seen_;
};

// What comes before the '=' of "section.key=value".
std::string OverriddenKey(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) {
    throw BadInput(StrCat("--set ", text, ": has no '=', expected section.key=value"));
  }
  return text.substr(0, equals);
}

void ApplyOverride(const std::string& text, RunConfig& config) {
  const std::string place = "--set " + text;
  const std::string name = OverriddenKey(text);
  const size_t equals = name.size();
  std::vector<std::string> known;
  for (const Section& section : Sections()) {
    for (const ConfigField& field : section.fields(config)) {
      known.push_back(FullName(section, field.name));
      if (known.back() != name) continue;
      YAML::Node value;
      try {
        value = YAML::Load(text.substr(equals + 1));
      } catch (const YAML::Exception& error) {
        throw BadInput(StrCat(place, ": not valid YAML: ", error.msg));
      }
      SetField(section, field, value, place, config);
      return;
    }
  }
  const std::string nearest = NearestName(name, known);
  throw BadInput(StrCat(place, ": unknown key '", name, "'",
                        nearest.empty() ? ", expected section.key=value" : StrCat(", did you mean '", nearest, "'?")));
}

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
  if (!workload.family.empty() && workload.train > workload.count) {
    throw BadInput(
        StrCat(source, ": workload.train is ", workload.train, ", expected at most workload.count, ", workload.count));
  }
  if (config.evaluation.patience == 1) {
    throw BadInput(
        StrCat(source, ": evaluation.patience is 1, expected 0 or at least 2, because one evaluation has no spread"));
  }
  const TrainingConfig& training = config.training;
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
  ConfigReader reader(source, config);
  try {
    reader.Read(YAML::Load(std::string(yaml)));
  } catch (const YAML::Exception& error) {
    throw BadInput(
        StrCat(source, ":", error.mark.line + 1, ":", error.mark.column + 1, ": not valid YAML: ", error.msg));
  }
  for (const bool deciding : {true, false}) {
    for (const std::string& text : overrides) {
      if (DecidesKeys(OverriddenKey(text)) == deciding) ApplyOverride(text, config);
    }
  }
  const auto is_shards = [](const std::string& text) { return OverriddenKey(text) == kShardsKey; };
  if (!reader.Has(kShardsKey) && std::none_of(overrides.begin(), overrides.end(), is_shards)) {
    config.training.shards = config.training.ranks;
  }
  CheckTogether(config, source);
  ResolvePath(config.workload.devices, base_folder);
  ResolvePath(config.policy.initial, base_folder);
  for (auto* const paths :
       {&config.workload.train_graphs, &config.workload.validation_graphs, &config.workload.test_graphs}) {
    for (std::string& path : *paths) ResolvePath(path, base_folder);
  }
  return config;
}

RunConfig LoadRunConfig(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  return ParseRunConfig(ReadFile(path), path.string(), path.parent_path(), overrides);
}

std::string RunConfigToYaml(const RunConfig& config) {
  RunConfig copy = config;  // Sections hand out mutable parts.
  YAML::Emitter out;
  out << YAML::BeginMap;
  for (const Section& section : Sections()) {
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
  const auto add = [&](const Section& section, const ConfigField& field, RunConfig& defaults,
                       const std::string& where) {
    const ConfigField::Value value = field.get(section.part(defaults));
    YAML::Emitter shown;
    EmitValue(shown, value);
    text += StrCat("  ", FullName(section, field.name), " = ", shown.c_str(), "  (", field.Expected(value), where,
                   ")  ", field.help, "\n");
  };
  for (const Section& section : Sections()) {
    RunConfig defaults;
    if (section.name != "policy") {
      for (const ConfigField& field : section.fields(defaults)) add(section, field, defaults, "");
      continue;
    }
    const std::vector<ConfigField> of_all = PolicyFields().fields();
    for (const ConfigField& field : of_all) add(section, field, defaults, "");
    for (const std::string& kind : PolicyKindNames()) {
      defaults.policy.kind = kind;
      for (const ConfigField& field : OwnFields(FindPolicyKind(kind))) {
        add(section, field, defaults, StrCat("; of policy.kind ", kind));
      }
    }
  }
  return text;
}

}  // namespace emplace
