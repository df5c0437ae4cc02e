#include "learner/ranks/step_message.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/error.h"
#include "common/files/content_hash.h"
#include "common/strings.h"
#include "learner/update/objective/make_loss.h"

namespace emplace {
namespace {

// Of the episodes, one after the other.
constexpr char kGraph[] = "episode.graph";
constexpr char kStart[] = "episode.start";
constexpr char kStartSize[] = "episode.start_size";
constexpr char kActions[] = "episode.actions";
constexpr char kNumActions[] = "episode.num_actions";
constexpr char kLogProb[] = "episode.behaviour_log_prob";
// Of the samples.
constexpr char kSampleEpisode[] = "sample.episode";
constexpr char kSampleDecision[] = "sample.decision";
// Of their decisions.
constexpr char kAdvantages[] = "advantages";
constexpr char kLags[] = "lags";
// Of the step.
constexpr char kLossKind[] = "loss.kind";
constexpr char kScalars[] = "scalars";
constexpr char kValuesHash[] = "values_hash";
constexpr std::array<std::string_view, 13> kArrays = {
    kGraph,          kStart,      kStartSize, kActions,  kNumActions, kLogProb,   kSampleEpisode,
    kSampleDecision, kAdvantages, kLags,      kLossKind, kScalars,    kValuesHash};
enum Scalar : size_t { kLossClip, kEntropyWeight, kGradientClip, kLearningRate, kScalarCount };

Error NoStep(const std::string& why) { return BadInput(StrCat("the step that the leader has sent: ", why)); }

const NamedArray* FindArray(const ArrayBundle& bundle, const std::string& name) {
  const auto found = std::ranges::find(bundle.arrays(), name, &NamedArray::name);
  return found == bundle.arrays().end() ? nullptr : &*found;
}

// The next `count` of the elements that are left.
template <typename T>
std::vector<T> TakeFront(std::span<const T>& rest, int64_t count, const char* name) {
  if (count < 0 || count > std::ssize(rest)) throw NoStep(StrCat(name, " is shorter than its sizes say"));
  const std::span<const T> taken = rest.first(static_cast<size_t>(count));
  rest = rest.subspan(taken.size());
  return {taken.begin(), taken.end()};
}

void CheckFinite(std::span<const double> values, const char* name) {
  for (const double value : values) {
    if (!std::isfinite(value)) throw NoStep(StrCat(name, " holds ", value, ", expected finite numbers"));
  }
}

}  // namespace

uint64_t HashOfValues(std::span<const float> values) {
  const std::span<const std::byte> bytes = std::as_bytes(values);
  return Hash64(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

ArrayBundle ToBundle(const UpdateInputs& inputs, std::span<const float> values) {
  std::vector<int32_t> graphs;
  std::vector<int32_t> start_sizes;
  std::vector<int32_t> action_counts;
  std::vector<uint8_t> starts;
  std::vector<uint8_t> actions;
  std::vector<float> log_probs;
  for (const Trajectory& episode : inputs.episodes) {
    graphs.push_back(static_cast<int32_t>(episode.graph));
    start_sizes.push_back(static_cast<int32_t>(episode.start_placement.size()));
    action_counts.push_back(static_cast<int32_t>(episode.actions.size()));
    starts.insert(starts.end(), episode.start_placement.begin(), episode.start_placement.end());
    actions.insert(actions.end(), episode.actions.begin(), episode.actions.end());
    log_probs.insert(log_probs.end(), episode.behaviour_log_prob.begin(), episode.behaviour_log_prob.end());
  }
  std::vector<int32_t> sample_episodes;
  std::vector<int32_t> sample_decisions;
  for (const Sample& sample : inputs.samples) {
    sample_episodes.push_back(static_cast<int32_t>(sample.episode));
    sample_decisions.push_back(sample.decision);
  }
  const LossSpec loss = inputs.loss.spec();
  std::vector<double> scalars(kScalarCount);
  scalars[kLossClip] = loss.clip;
  scalars[kEntropyWeight] = loss.entropy_weight;
  scalars[kGradientClip] = inputs.gradient_clip;
  scalars[kLearningRate] = inputs.learning_rate;

  ArrayBundle bundle;
  bundle.Put(kGraph, graphs);
  bundle.Put(kStartSize, start_sizes);
  bundle.Put(kStart, starts);
  bundle.Put(kNumActions, action_counts);
  bundle.Put(kActions, actions);
  bundle.Put(kLogProb, log_probs);
  bundle.Put(kSampleEpisode, sample_episodes);
  bundle.Put(kSampleDecision, sample_decisions);
  bundle.Put(kAdvantages, inputs.advantages);
  bundle.Put(kLags, inputs.lags);
  bundle.Put(kLossKind, std::vector<uint8_t>{static_cast<uint8_t>(loss.kind)});
  bundle.Put(kScalars, scalars);
  bundle.Put(kValuesHash, std::vector<uint64_t>{HashOfValues(values)});
  return bundle;
}

ArrayBundle ChangedArrays(const ArrayBundle& before, const ArrayBundle& step) {
  ArrayBundle changed;
  for (const NamedArray& array : step.arrays()) {
    const NamedArray* const old = FindArray(before, array.name);
    const bool same = old != nullptr && old->type == array.type && old->bytes == array.bytes;
    if (!same || array.name == kValuesHash) changed.arrays().push_back(array);
  }
  return changed;
}

void TakeChanges(ArrayBundle changed, ArrayBundle& step) {
  for (NamedArray& array : changed.arrays()) {
    if (std::ranges::find(kArrays, array.name) == kArrays.end()) {
      throw NoStep(StrCat("array '", array.name, "', expected those of a step"));
    }
    const auto old = std::ranges::find(step.arrays(), array.name, &NamedArray::name);
    if (old == step.arrays().end()) {
      step.arrays().push_back(std::move(array));
    } else {
      *old = std::move(array);
    }
  }
}

ReceivedStep::ReceivedStep(const ArrayBundle& bundle, const std::vector<PlacementTask>& tasks, const PolicyKind& kind) {
  ReadEpisodes(bundle, tasks, kind);
  ReadSamples(bundle, kind);
  const std::vector<uint8_t> loss_kind = bundle.Get<uint8_t>(kLossKind);
  if (loss_kind.size() != 1 || loss_kind[0] > static_cast<uint8_t>(kLastLossKind)) throw NoStep("its loss is unknown");
  const std::vector<double> scalars = bundle.Get<double>(kScalars);
  const std::vector<uint64_t> hash = bundle.Get<uint64_t>(kValuesHash);
  if (scalars.size() != kScalarCount || hash.size() != 1) throw NoStep("it lacks some of its numbers");
  CheckFinite(scalars, kScalars);
  loss_ = MakeLoss({static_cast<LossKind>(loss_kind[0]), scalars[kLossClip], scalars[kEntropyWeight]});
  gradient_clip_ = scalars[kGradientClip];
  learning_rate_ = scalars[kLearningRate];
  values_hash_ = hash[0];
}

void ReceivedStep::ReadEpisodes(const ArrayBundle& bundle, const std::vector<PlacementTask>& tasks,
                                const PolicyKind& kind) {
  const std::vector<int32_t> graphs = bundle.Get<int32_t>(kGraph);
  const std::vector<int32_t> start_sizes = bundle.Get<int32_t>(kStartSize);
  const std::vector<int32_t> action_counts = bundle.Get<int32_t>(kNumActions);
  const std::vector<uint8_t> starts = bundle.Get<uint8_t>(kStart);
  const std::vector<uint8_t> actions = bundle.Get<uint8_t>(kActions);
  const std::vector<float> log_probs = bundle.Get<float>(kLogProb);
  if (start_sizes.size() != graphs.size() || action_counts.size() != graphs.size() ||
      log_probs.size() != actions.size()) {
    throw NoStep("the arrays of its episodes have different lengths");
  }
  std::span<const uint8_t> rest_of_starts = starts;
  std::span<const uint8_t> rest_of_actions = actions;
  std::span<const float> rest_of_log_probs = log_probs;
  for (size_t i = 0; i < graphs.size(); ++i) {
    if (graphs[i] < 0 || graphs[i] >= std::ssize(tasks)) {
      throw NoStep(StrCat("graph ", graphs[i], ", expected one of ", tasks.size()));
    }
    Trajectory& episode = episodes_.emplace_back();
    episode.graph = static_cast<GraphId>(graphs[i]);
    episode.start_placement = TakeFront(rest_of_starts, start_sizes[i], kStart);
    episode.actions = TakeFront(rest_of_actions, action_counts[i], kActions);
    episode.behaviour_log_prob = TakeFront(rest_of_log_probs, action_counts[i], kLogProb);
    const std::optional<std::string> reason = kind.CheckDecisions(tasks[episode.graph], episode);
    if (reason) throw NoStep(StrCat("episode ", i, ": ", *reason));
  }
}

void ReceivedStep::ReadSamples(const ArrayBundle& bundle, const PolicyKind& kind) {
  const std::vector<int32_t> episodes = bundle.Get<int32_t>(kSampleEpisode);
  const std::vector<int32_t> decisions = bundle.Get<int32_t>(kSampleDecision);
  advantages_ = bundle.Get<float>(kAdvantages);
  lags_ = bundle.Get<float>(kLags);
  if (decisions.size() != episodes.size()) throw NoStep("the arrays of its samples have different lengths");
  size_t total = 0;
  for (size_t i = 0; i < episodes.size(); ++i) {
    if (episodes[i] < 0 || episodes[i] >= std::ssize(episodes_)) {
      throw NoStep(StrCat("a sample of episode ", episodes[i], ", expected one of ", episodes_.size()));
    }
    const Trajectory& episode = episodes_[static_cast<size_t>(episodes[i])];
    const size_t count = kind.DecisionsOfSample(episode);
    if (decisions[i] < 0 || static_cast<size_t>(decisions[i]) + count > episode.actions.size()) {
      throw NoStep(StrCat("a sample of decision ", decisions[i], ", expected one of ", episode.actions.size()));
    }
    samples_.push_back({static_cast<size_t>(episodes[i]), decisions[i]});
    total += count;
  }
  if (total == 0 || advantages_.size() != total || lags_.size() != total) {
    throw NoStep(StrCat(total, " decisions with ", advantages_.size(), " advantages and ", lags_.size(),
                        " lags, expected as many of each"));
  }
}

UpdateInputs ReceivedStep::inputs() const {
  return {{.episodes = episodes_,
           .samples = samples_,
           .advantages = advantages_,
           .lags = lags_,
           .gradient_clip = gradient_clip_,
           .learning_rate = learning_rate_},
          *loss_};
}

}  // namespace emplace
