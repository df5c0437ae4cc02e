#include "policy/config/workload_config.h"

#include "common/strings.h"

namespace emplace {

FieldTable<WorkloadConfig> WorkloadFields() {
  using C = WorkloadConfig;
  constexpr char kWithoutValidation[] =
      "of ten training graphs or more every fifth is held out for it; of fewer none is, and the last policy is taken; "
      "with one training graph the best policy on it.";
  FieldTable<C> t;
  t.Field("family", &C::family)
      .Help(
          "Family of graphs, or single network, that is generated, such as ptb or nasnet; `emplace generate --help` "
          "lists all names. Empty: the graphs are read from workload.train_graphs. instances: training.objective "
          "evolution trains on graphs and machines without end (section instances), which this section then says "
          "nothing of.");
  t.Field("count", &C::count).Range(1, 10000).Help("Number of generated graphs, training and test graphs together.");
  t.Field("train", &C::train)
      .Range(1, 10000)
      .Help("Number of generated graphs that are training graphs; the others are test graphs.");
  t.Field("validation", &C::validation)
      .Range(0, 10000)
      .Help(StrCat("Number of further generated graphs, on which the best policy is chosen. 0: ", kWithoutValidation));
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
          "can run them.");
  t.Field("ranges", &C::ranges).Help("Ranges that replace the family's own, such as 'steps=10..20'.");
  t.Field("train_graphs", &C::train_graphs)
      .Help("Graph files to train on, in place of a family. Relative paths start at the configuration's folder.");
  t.Field("validation_graphs", &C::validation_graphs)
      .Help(StrCat("Graph files on which the best policy is chosen. Empty: ", kWithoutValidation));
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

}  // namespace emplace
