#include "learner/policy_updater.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>

#include "common/error.h"
#include "common/log.h"
#include "common/policy/policy_net.h"
#include "common/rng.h"
#include "common/strings.h"
#include "learner/baselines.h"

namespace emplace {
namespace {

// States that go through the network together. More only costs cache: the tensors of one message round are
// n * states * m floats.
constexpr size_t kStatesAtOnce = 64;

constexpr double kAdamBeta1 = 0.9;
constexpr double kAdamBeta2 = 0.999;
constexpr double kAdamEpsilon = 1e-8;

// Linear from `start` to `end` over `updates`.
double Decayed(double start, double end, int64_t updates, int64_t done) {
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(updates));
  return start + (end - start) * share;
}

// One state to learn from.
struct Sample {
  size_t episode;  // In the batch.
  int32_t step;
};

torch::Device ChooseDevice(const std::string& wanted) {
  const bool have_cuda = torch::cuda::is_available();
  if (wanted == "cuda" && !have_cuda) {
    throw RunFailed("training.device is cuda, but there is no usable CUDA device, or this build is without CUDA");
  }
  return wanted != "cpu" && have_cuda ? torch::Device(torch::kCUDA, 0) : torch::Device(torch::kCPU);
}

torch::Tensor FromHost(const std::vector<float>& values, torch::Device device) {
  return torch::tensor(values, torch::kFloat32).to(device);
}

}  // namespace

struct PolicyUpdater::Impl {
  Impl(const std::vector<PlacementTask>& all_tasks, const RunConfig& run_config, PolicyWeights initial)
      : tasks(all_tasks),
        config(run_config.training),
        seed(run_config.seed),
        device(ChooseDevice(config.device)),
        device_name(device.str()),
        weights(std::move(initial)),
        net(weights),
        baselines(tasks.size(), config.baseline_window) {
    net->to(device);
    const auto parameters = static_cast<size_t>(NumParameters(weights.shape));
    adam_mean.assign(parameters, 0);
    adam_variance.assign(parameters, 0);
  }

  UpdateStats Update(const std::vector<Trajectory>& batch);
  std::vector<Sample> DrawSamples(const std::vector<Trajectory>& batch) const;
  void Backward(const std::vector<Trajectory>& batch, const std::vector<std::vector<float>>& advantages,
                std::span<const Sample> samples, double scale, UpdateStats& stats);
  std::vector<float> Gradient() const;
  void AdamStep(std::span<const float> gradient, double scale, double learning_rate);

  const std::vector<PlacementTask>& tasks;
  const TrainingConfig config;
  const uint64_t seed;
  const torch::Device device;
  const std::string device_name;
  PolicyWeights weights;
  PolicyNet net;
  Baselines baselines;
  int64_t adam_steps = 0;
  std::vector<float> adam_mean;      // [NumParameters]
  std::vector<float> adam_variance;  // [NumParameters]
};

std::vector<Sample> PolicyUpdater::Impl::DrawSamples(const std::vector<Trajectory>& batch) const {
  std::vector<Sample> samples;
  for (size_t e = 0; e < batch.size(); ++e) {
    for (size_t t = 0; t < batch[e].actions.size(); ++t) samples.push_back({e, static_cast<int32_t>(t)});
  }
  const auto wanted = static_cast<size_t>(config.max_states_per_update);
  if (wanted > 0 && wanted < samples.size()) {
    // Named by the version, so that a resumed run draws what an unbroken one would have drawn.
    Rng rng = Rng(seed).Fork("update", weights.version);
    for (size_t i = 0; i < wanted; ++i) {
      std::swap(samples[i], samples[static_cast<size_t>(rng.UniformInt(static_cast<int64_t>(i), std::ssize(samples) - 1))]);
    }
    samples.resize(wanted);
  }
  std::stable_sort(samples.begin(), samples.end(), [&](const Sample& a, const Sample& b) {
    return std::tuple(batch[a.episode].graph, a.episode, a.step) < std::tuple(batch[b.episode].graph, b.episode, b.step);
  });
  return samples;
}

// Adds the gradient of these samples' share of the loss. REQUIRES: all are of one graph.
void PolicyUpdater::Impl::Backward(const std::vector<Trajectory>& batch,
                                   const std::vector<std::vector<float>>& advantages, std::span<const Sample> samples,
                                   double scale, UpdateStats& stats) {
  const PolicyGraph& graph = tasks[batch[samples.front().episode].graph].policy;
  const auto n = static_cast<size_t>(graph.num_nodes);
  // The placement at step t: what was chosen before t, and the start placement from t on.
  std::vector<uint8_t> placements(samples.size() * n);
  std::vector<PolicyState> states;
  std::vector<int64_t> actions;
  std::vector<float> advantage;
  std::vector<float> behaviour_log_prob;
  std::vector<float> lags;  // 1 where an older version chose the action.
  for (size_t i = 0; i < samples.size(); ++i) {
    const Trajectory& episode = batch[samples[i].episode];
    const auto t = static_cast<size_t>(samples[i].step);
    uint8_t* const placement = placements.data() + i * n;
    std::copy_n(episode.actions.begin(), t, placement);
    std::copy_n(episode.start_placement.begin() + static_cast<std::ptrdiff_t>(t), n - t, placement + t);
    states.push_back({&graph, placement, samples[i].step});
    actions.push_back(episode.actions[t]);
    advantage.push_back(static_cast<float>(scale) * advantages[samples[i].episode][t]);
    behaviour_log_prob.push_back(episode.behaviour_log_prob[t]);
    lags.push_back(episode.policy_version == weights.version ? 0.0F : 1.0F);
  }

  const torch::Tensor logits = net->Forward(MakePolicyBatch(graph, states, weights.shape, device));
  const torch::Tensor log_probs = torch::log_softmax(logits, 1);
  const torch::Tensor chosen = log_probs.gather(1, torch::tensor(actions).to(device).unsqueeze(1)).squeeze(1);  // [S]
  // Exactly 1 for the current version: what the actor's kernel rounds otherwise than LibTorch is no lag.
  const torch::Tensor ratio = ((chosen.detach() - FromHost(behaviour_log_prob, device)) * FromHost(lags, device)).exp();
  const torch::Tensor importance = ratio.clamp_max(config.importance_clip);
  // A device that is not allowed has probability 0 and log-probability -infinity: it adds nothing to the entropy.
  const torch::Tensor finite = log_probs.masked_fill(log_probs.isinf(), 0.0);
  const torch::Tensor entropy = -(log_probs.exp() * finite).sum(1);
  const torch::Tensor loss =
      -(importance * FromHost(advantage, device) * chosen).sum() - stats.entropy_weight * entropy.sum();
  const auto total = static_cast<double>(stats.states);
  (loss / total).backward();
  stats.loss += loss.item<double>() / total;
  stats.entropy += entropy.sum().item<double>() / total;
  stats.mean_importance += ratio.sum().item<double>() / total;
}

std::vector<float> PolicyUpdater::Impl::Gradient() const {
  std::vector<float> gradient;
  gradient.reserve(adam_mean.size());
  // Registered in the order of PolicyLayers, weight then bias.
  for (const torch::Tensor& parameter : net->parameters()) {
    const torch::Tensor& grad = parameter.grad();
    if (grad.defined()) {
      const torch::Tensor host = grad.to(torch::kCPU).contiguous();
      gradient.insert(gradient.end(), host.data_ptr<float>(), host.data_ptr<float>() + host.numel());
    } else {
      gradient.resize(gradient.size() + static_cast<size_t>(parameter.numel()));  // No message rounds: f is unused.
    }
  }
  EMPLACE_CHECK(gradient.size() == adam_mean.size());
  return gradient;
}

// Adam (Kingma and Ba, ICLR 2015, algorithm 1), on the flat vector that checkpoints and messages hold: a policy has a few
// tens of thousands of parameters.
void PolicyUpdater::Impl::AdamStep(std::span<const float> gradient, double scale, double learning_rate) {
  ++adam_steps;
  const double correction1 = 1 - std::pow(kAdamBeta1, static_cast<double>(adam_steps));
  const double correction2 = 1 - std::pow(kAdamBeta2, static_cast<double>(adam_steps));
  for (size_t i = 0; i < gradient.size(); ++i) {
    const double g = scale * static_cast<double>(gradient[i]);
    const double mean = kAdamBeta1 * static_cast<double>(adam_mean[i]) + (1 - kAdamBeta1) * g;
    const double variance = kAdamBeta2 * static_cast<double>(adam_variance[i]) + (1 - kAdamBeta2) * g * g;
    adam_mean[i] = static_cast<float>(mean);
    adam_variance[i] = static_cast<float>(variance);
    const double step = learning_rate * (mean / correction1) / (std::sqrt(variance / correction2) + kAdamEpsilon);
    weights.values[i] = static_cast<float>(static_cast<double>(weights.values[i]) - step);
  }
  net->SetValues(weights.values);
}

UpdateStats PolicyUpdater::Impl::Update(const std::vector<Trajectory>& batch) {
  EMPLACE_CHECK(!batch.empty());
  const auto done = static_cast<int64_t>(weights.version);
  UpdateStats stats;
  stats.learning_rate = Decayed(config.learning_rate, config.learning_rate_end, config.learning_rate_decay_updates, done);
  stats.entropy_weight = Decayed(config.entropy_start, config.entropy_end, config.entropy_decay_updates, done);

  const std::vector<std::vector<float>> advantages = baselines.AdvantagesThenAdd(batch);
  double sum = 0;
  double squares = 0;
  double count = 0;
  for (const std::vector<float>& episode : advantages) {
    for (const float advantage : episode) {
      sum += static_cast<double>(advantage);
      squares += static_cast<double>(advantage) * static_cast<double>(advantage);
      ++count;
    }
  }
  stats.advantage_std = count > 0 ? std::sqrt(std::max(0.0, squares / count - (sum / count) * (sum / count))) : 0;
  const double scale = config.normalize_advantages ? 1 / (stats.advantage_std + 1e-8) : 1;

  const std::vector<Sample> samples = DrawSamples(batch);
  stats.states = std::ssize(samples);
  net->zero_grad();
  for (size_t begin = 0; begin < samples.size();) {
    const GraphId graph = batch[samples[begin].episode].graph;
    size_t end = begin;
    while (end < samples.size() && end - begin < kStatesAtOnce && batch[samples[end].episode].graph == graph) ++end;
    Backward(batch, advantages, std::span<const Sample>(samples).subspan(begin, end - begin), scale, stats);
    begin = end;
  }

  const std::vector<float> gradient = Gradient();
  double norm_squared = 0;
  for (const float g : gradient) norm_squared += static_cast<double>(g) * static_cast<double>(g);
  stats.gradient_norm = std::sqrt(norm_squared);
  if (std::isfinite(stats.gradient_norm)) {
    AdamStep(gradient, std::min(1.0, config.gradient_clip / std::max(stats.gradient_norm, 1e-12)), stats.learning_rate);
  } else {
    LogWarning(StrCat("update ", weights.version + 1, ": the gradient is not finite; the weights stay as they are"));
  }
  ++weights.version;
  return stats;
}

PolicyUpdater::PolicyUpdater(const std::vector<PlacementTask>& tasks, const RunConfig& config, PolicyWeights initial)
    : impl_(std::make_unique<Impl>(tasks, config, std::move(initial))) {}
PolicyUpdater::~PolicyUpdater() = default;

UpdateStats PolicyUpdater::Update(const std::vector<Trajectory>& batch) { return impl_->Update(batch); }
const PolicyWeights& PolicyUpdater::weights() const { return impl_->weights; }
const std::string& PolicyUpdater::device() const { return impl_->device_name; }

UpdaterState PolicyUpdater::SaveState() const {
  return {impl_->adam_steps, impl_->adam_mean, impl_->adam_variance, impl_->baselines.Save()};
}

void PolicyUpdater::LoadState(const UpdaterState& state) {
  if (state.adam_mean.size() != impl_->adam_mean.size() || state.adam_variance.size() != impl_->adam_mean.size()) {
    throw BadInput(StrCat("optimizer state of ", state.adam_mean.size(), " parameters, expected ", impl_->adam_mean.size()));
  }
  if (state.adam_steps < 0) throw BadInput(StrCat("optimizer state after ", state.adam_steps, " steps"));
  std::vector<int32_t> steps;
  for (const PlacementTask& task : impl_->tasks) steps.push_back(task.policy.num_nodes);
  impl_->baselines.Load(state.recent_returns, steps);
  impl_->adam_steps = state.adam_steps;
  impl_->adam_mean = state.adam_mean;
  impl_->adam_variance = state.adam_variance;
}

}  // namespace emplace
