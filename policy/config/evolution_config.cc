#include "policy/config/evolution_config.h"

namespace emplace {
namespace {

constexpr double kMostBudget = 1e6;

}  // namespace

FieldTable<EvolutionConfig> EvolutionFields() {
  using C = EvolutionConfig;
  FieldTable<C> t;
  t.Field("algorithm", &C::algorithm, {{EvolutionAlgorithm::kCma, "cma"}, {EvolutionAlgorithm::kOpenAi, "openai"}})
      .Help(
          "How the distribution moves to where candidates did better: cma, CMA-ES, which also learns how parameters "
          "go together, for some hundred of them at most; or openai, OpenAI-ES, which moves the mean alone, by Adam, "
          "and draws candidates in pairs on opposite sides of it.");
  t.Field("learning_rate", &C::learning_rate)
      .Range(1e-4, 10)
      .Help(
          "Adam's learning rate with algorithm openai: about how far a generation moves a parameter at most, in "
          "standard deviations of that parameter over the candidates.");
  t.Field("spread_decay", &C::spread_decay)
      .Range(0.5, 1)
      .Help(
          "Factor by which each generation multiplies the spread of the candidates with algorithm openai, and with it "
          "how far the mean moves. 1: the spread stays as it is.");
  t.Field("population", &C::population)
      .Range(2, 4096)
      .Help(
          "Number of candidates in a generation. Each places training.episodes_per_update / population problems, all "
          "of them the same ones.");
  t.Field("least_budget", &C::least_budget)
      .Range(1, kMostBudget)
      .Help(
          "Least number of placements that a planner may simulate for a problem; 1: it makes a single pass. Each "
          "problem's number is drawn between this and most_budget, by its logarithm.");
  t.Field("most_budget", &C::most_budget)
      .Range(1, kMostBudget)
      .Help("Greatest number of placements that a planner may simulate for a problem.");
  t.Field("score_clip", &C::score_clip)
      .Range(1e-3, 100)
      .Help(
          "By how much ln(makespan) of a candidate may count as better or worse than the median candidate on a "
          "problem, so that no single problem decides.");
  t.Field("penalty", &C::penalty)
      .Range(0, 10)
      .Help(
          "By how much ln(makespan) a candidate counts as worse whose parameters are one step away from the planner as "
          "set by hand, in the root mean square; it grows with the square. What problems cannot tell apart so stays "
          "near to where it was set by hand.");
  t.Field("average_power", &C::average_power)
      .Range(0, 1000)
      .Help(
          "0: the policy that is evaluated and handed out is the mean of the last generation. Otherwise it is the "
          "average over all generations' means, where generation t counts as much as t to this power, since with new "
          "problems in each generation the mean wanders.");
  t.Field("initial_share", &C::initial_share)
      .Range(0, 1)
      .Help(
          "How far from the planner as set by hand to policy.initial training begins. 1: at policy.initial; 0: by "
          "hand.");
  t.Field("initial_spread", &C::initial_spread)
      .Range(1e-3, 1e3)
      .Help(
          "Factor by which the spread of policy.initial is multiplied at the start, since what it has learned is "
          "narrower than what other problems may need.");
  t.Field("checked", &C::checked).Range(0, 1).Help("Share of the trials that the learner runs again to check them.");
  t.Field("evaluation_budget", &C::evaluation_budget)
      .Range(1, kMostBudget)
      .Help("Placements that the planner may simulate for each graph of an evaluation; 1: it makes a single pass.");
  t.Field("validation_instances", &C::validation_instances)
      .Range(1, 1e5)
      .Help("Number of instances on which the best policy is chosen, with workload.family instances.");
  t.Field("test_instances", &C::test_instances)
      .Range(0, 1e5)
      .Help("Number of instances on which the policy is judged, with workload.family instances.");
  return t;
}

}  // namespace emplace
