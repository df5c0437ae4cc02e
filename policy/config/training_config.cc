#include "policy/config/training_config.h"

#include "common/wire/messages/frames.h"

namespace emplace {
namespace {

constexpr double kMany = 1e9;

}  // namespace

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
  t.Field("objective", &C::objective,
          {
              {TrainingObjective::kReinforce, "reinforce"},
              {TrainingObjective::kPpo, "ppo"},
              {TrainingObjective::kEvolution, "evolution"},
          })
      .Help(
          "Loss that an update minimizes: reinforce, with importance weights up to importance_clip, or ppo, which "
          "leaves out what has moved further than proximal_clip already and so allows several epochs. evolution: no "
          "loss; the policy, of a kind that plans, moves to where candidates drawn from it place better than others "
          "(section evolution).");
  t.Field("episodes_per_update", &C::episodes_per_update)
      .Range(1, kMaxWork)
      .Help("Number of episodes in the batch of one update (B).");
  t.Field("max_states_per_update", &C::max_states_per_update)
      .Range(0, kMany)
      .Help("Number of states drawn from the batch's episodes for one update. 0: all states.");
  t.Field("discount", &C::discount)
      .Range(0.01, 1.0)
      .Help(
          "Factor that multiplies a reward once for each step between an action and that reward. Below 1, an action "
          "answers for the next steps only, with less noise.");
  t.Field("baseline", &C::baseline, {{BaselineKind::kGraph, "graph"}, {BaselineKind::kBatch, "batch"}})
      .Help(
          "Episodes whose mean return is the baseline of an episode: graph, the recent ones on its graph, or batch, "
          "the other ones of its batch that have its graph and its start (environment.episodes_per_start).");
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
          "before the action is left out.");
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
      .Help(
          "Processor on which the learner computes its updates. auto: a GPU where there is one, training.shards is 1, "
          "and the policy kind can use it with this objective; else the CPU. cuda: a GPU, or the run does not start.");
  return t;
}

}  // namespace emplace
