#include "simulator/instances/family_ops.h"

#include <algorithm>
#include <array>
#include <utility>

#include "simulator/families/program/lower.h"
#include "simulator/families/workloads/amoebanet.h"
#include "simulator/families/workloads/cifar10.h"
#include "simulator/families/workloads/gnmt.h"
#include "simulator/families/workloads/nasnet.h"
#include "simulator/families/workloads/nmt.h"
#include "simulator/families/workloads/ptb.h"
#include "simulator/families/workloads/rnnlm.h"
#include "simulator/families/workloads/transformer_xl.h"
#include "simulator/families/workloads/wavenet.h"
#include "simulator/instances/draws.h"

namespace emplace {
namespace {

// Examples of a step: at least one for each micro-batch.
int64_t DrawBatch(Rng& rng) { return LogUniformInt(rng, 8, 256); }
int64_t DrawMultiple(Rng& rng, int64_t low, int64_t high, int64_t multiple) {
  return multiple * LogUniformInt(rng, low / multiple, high / multiple);
}

// A Build function on a model whose length is not set yet.
template <typename Model>
NetworkOfLength OfLength(const Model& model, void (*set_length)(Model& model, int64_t length),
                         TensorProgram (*build)(const Model& model, const StepOptions& step)) {
  return [=](int64_t length, const StepOptions& step) {
    Model sized = model;
    set_length(sized, length);
    return build(sized, step);
  };
}

template <typename Model>
void SetSteps(Model& model, int64_t length) {
  model.steps = length;
}
template <typename Model>
void SetLayers(Model& model, int64_t length) {
  model.layers = length;
}

NetworkOfLength DrawPtb(Rng& rng) {
  const Ranges ranges({{"nodes", {3, 20}},
                       {"batch", {8, 128}},
                       {"hidden", {64, 2048, 16}},
                       {"steps", {1, 1}},
                       {"vocabulary", {1000, 50000}}});
  return OfLength<PtbModel>(SamplePtb(rng, ranges), SetSteps, BuildPtb);
}

NetworkOfLength DrawRnnlm(Rng& rng) {
  RnnlmModel model;
  model.layers = rng.UniformInt(1, 10);
  model.state = DrawMultiple(rng, 64, 4096, 64);
  model.projection = DrawMultiple(rng, 64, 1024, 64);
  model.batch = DrawBatch(rng);
  model.vocabulary = LogUniformInt(rng, 10000, 1000000);
  model.sampled = LogUniformInt(rng, 64, 8192);
  return OfLength<RnnlmModel>(model, SetSteps, BuildRnnlm);
}

NetworkOfLength DrawTransformerXl(Rng& rng) {
  TransformerXlModel model;
  model.heads = rng.UniformInt(1, 16);
  model.head_width = DrawMultiple(rng, 16, 128, 16);
  model.width = model.heads * model.head_width;
  model.inner = model.width * rng.UniformInt(1, 6);
  model.batch = DrawBatch(rng);
  model.segment = LogUniformInt(rng, 16, 1024);
  model.memory = LogUniformInt(rng, 16, 1024);
  model.vocabulary = LogUniformInt(rng, 64, 50000);
  return OfLength<TransformerXlModel>(model, SetLayers, BuildTransformerXl);
}

NetworkOfLength DrawCifar10(Rng& rng) {
  const Ranges ranges({{"cells", {3, 3}}, {"filters", {4, 96, 4}}, {"batch", {8, 256}}});
  const auto set_cells = [](Cifar10Model& model, int64_t length) { model.cells = length + 2; };
  return OfLength<Cifar10Model>(SampleCifar10(rng, ranges), set_cells, BuildCifar10);
}

NetworkOfLength DrawNasnet(Rng& rng) {
  NasnetModel model;
  model.batch = DrawBatch(rng);
  model.image = 32 * rng.UniformInt(2, 10) + 11;
  model.filters = DrawMultiple(rng, 24, 168, 24);
  model.stem_filters = DrawMultiple(rng, 32, 96, 32);
  model.classes = LogUniformInt(rng, 10, 10000);
  const auto set_repeats = [](NasnetModel& sized, int64_t length) { sized.repeats = length; };
  return OfLength<NasnetModel>(model, set_repeats, BuildNasnet);
}

template <typename Model, typename Build>
NetworkOfLength DrawTranslation(Rng& rng, int64_t fewest_layers, int64_t most_layers, Build build) {
  Model model;
  model.layers = rng.UniformInt(fewest_layers, most_layers);
  model.hidden = DrawMultiple(rng, 64, 2048, 64);
  model.batch = DrawBatch(rng);
  model.vocabulary = LogUniformInt(rng, 1000, 100000);
  return OfLength<Model>(model, SetSteps, build);
}

NetworkOfLength DrawNmt(Rng& rng) { return DrawTranslation<NmtModel>(rng, 1, 6, BuildNmt); }
NetworkOfLength DrawGnmt(Rng& rng) { return DrawTranslation<GnmtModel>(rng, 2, 8, BuildGnmt); }

NetworkOfLength DrawAmoebanet(Rng& rng) {
  AmoebanetModel model;
  model.batch = DrawBatch(rng);
  model.image = 32 * rng.UniformInt(2, 10);
  model.filters = DrawMultiple(rng, 32, 256, 16);
  model.classes = LogUniformInt(rng, 10, 10000);
  const auto set_layers = [](AmoebanetModel& sized, int64_t length) { sized.layers = 3 * length; };
  return OfLength<AmoebanetModel>(model, set_layers, BuildAmoebanet);
}

NetworkOfLength DrawWavenet(Rng& rng) {
  WavenetModel model;
  model.stack_layers = rng.UniformInt(2, 10);
  model.channels = DrawMultiple(rng, 32, 512, 32);
  model.skip = DrawMultiple(rng, 32, 512, 32);
  model.levels = LogUniformInt(rng, 16, 256);
  model.batch = rng.UniformInt(8, 16);
  model.samples = LogUniformInt(rng, 1024, 16384);
  const auto set_stacks = [](WavenetModel& sized, int64_t length) { sized.stacks = length; };
  return OfLength<WavenetModel>(model, set_stacks, BuildWavenet);
}

// On this device every op costs what its arithmetic or its bytes take.
DeviceKind DrawReference(Rng& rng) {
  DeviceKind kind;
  kind.name = "reference";
  kind.peak_gflops_f32 = kind.peak_gflops_f16 = LogUniform(rng, 1000, 100000);
  kind.memory_gb_per_s = LogUniform(rng, 50, 3000);
  kind.launch_us = LogUniform(rng, 0.5, 10);
  for (ClassEfficiency& efficiency : kind.efficiency) {
    efficiency = {rng.Uniform(0.2, 0.9), rng.Uniform(0.3, 0.9), LogUniform(rng, 1, 100)};
  }
  return kind;
}

}  // namespace

std::span<const FamilyGenerator> FamilyGenerators(InstancePart part) {
  static const std::array<FamilyGenerator, 5> train = {{{"ptb", DrawPtb},
                                                        {"rnnlm", DrawRnnlm},
                                                        {"transformer_xl", DrawTransformerXl},
                                                        {"cifar10", DrawCifar10},
                                                        {"nasnet", DrawNasnet}}};
  static const std::array<FamilyGenerator, 2> validation = {{{"nmt", DrawNmt}, {"amoebanet", DrawAmoebanet}}};
  static const std::array<FamilyGenerator, 2> test = {{{"gnmt", DrawGnmt}, {"wavenet", DrawWavenet}}};
  return OfPart<std::span<const FamilyGenerator>>(part, train, validation, test);
}

std::vector<Op> DrawFamilyOps(Rng& rng, const FamilyGenerator& generator, int32_t ops, int32_t least_ops,
                              bool microbatches) {
  const bool training = Chance(rng, 0.65);
  StepOptions step = {.float_type = Chance(rng, 0.5) ? ElementType::kFloat32 : ElementType::kFloat16,
                      .forward_only = !training};
  const int32_t most_microbatches = microbatches ? DrawMicrobatches(rng, ops) : 1;
  const std::vector<DeviceKind> reference = {DrawReference(rng)};
  const NetworkOfLength network = generator.draw(rng);

  // Every unit of the length adds as many ops; the first has what is there once besides, as an embedding or a stem.
  // Micro-batches repeat all but the parameters.
  TensorProgram program = network(1, step);
  const auto count = [&] { return std::ssize(program.nodes()); };
  const int64_t shortest = count();
  step.microbatches = std::clamp<int64_t>(ops / shortest, 1, most_microbatches);
  const int64_t ops_of_part = ops / step.microbatches;
  int64_t length = 1;
  if (shortest < ops_of_part) {
    const StepOptions one_part = {.float_type = step.float_type, .forward_only = step.forward_only};
    program = network(2, one_part);
    length += (ops_of_part - shortest) / (count() - shortest);
  }
  if (length > 1 || step.microbatches > 1) program = network(length, step);
  while (count() < least_ops) program = network(++length, step);

  std::vector<Op> made = Lower(generator.name, program, reference).ops();
  for (Op& op : made) op.cost = OpCost::Everywhere(op.cost.On("reference").value_or(0));
  return made;
}

}  // namespace emplace
