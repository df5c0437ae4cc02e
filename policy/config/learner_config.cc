#include "policy/config/learner_config.h"

namespace emplace {
namespace {

constexpr double kMostUpdates = 1e9;

}  // namespace

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

FieldTable<EvaluationConfig> EvaluationFields() {
  FieldTable<EvaluationConfig> t;
  t.Field("every", &EvaluationConfig::every)
      .Range(0, kMostUpdates)
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
  t.Field("every", &C::every).Range(1, kMostUpdates).Help("Most updates between two checkpoints.");
  t.Field("seconds", &C::seconds)
      .Range(0, 1e6)
      .Help(
          "Seconds after a checkpoint from which on the next update writes one, too, for policies whose updates take "
          "long; 0: never.");
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

}  // namespace emplace
