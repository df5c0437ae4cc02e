#include "policy/config/actor_config.h"

namespace emplace {

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
      .Help(
          "Seconds that a measured step may take, the first one with making its placement ready; a placement with a "
          "longer one counts as one that hangs.");
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

}  // namespace emplace
