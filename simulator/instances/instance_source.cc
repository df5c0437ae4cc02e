#include "simulator/instances/instance_source.h"

#include <iomanip>
#include <utility>

#include "common/strings.h"
#include "simulator/graph/grouping.h"
#include "simulator/instances/dag_ops.h"
#include "simulator/instances/dag_shapes.h"
#include "simulator/instances/draws.h"
#include "simulator/instances/family_ops.h"
#include "simulator/instances/memory_sizes.h"
#include "simulator/instances/op_pieces.h"
#include "simulator/instances/random_costs.h"
#include "simulator/instances/random_machine.h"

namespace emplace {
namespace {

constexpr double kFamilyShare = 0.4;  // Of what is not from the corpus.
constexpr int32_t kMostOfCorpus = 4;  // Graphs of the corpus have up to so many times max_ops.
constexpr double kCutShare = 0.15;    // Of families and corpus.
constexpr double kContractedShare = 0.15;

}  // namespace

InstanceSource::InstanceSource(const InstanceConfig& config, InstancePart part, uint64_t seed)
    : config_(Checked(config)),
      part_(part),
      root_(Rng(seed).Fork("instances/" + NameOf(part))),
      corpus_(config.corpus, part, config.min_ops, kMostOfCorpus * config.max_ops) {}

InstanceSource::Source InstanceSource::DrawSource(Rng& rng) const {
  const auto ops = static_cast<int32_t>(LogUniformInt(rng, config_.min_ops, config_.max_ops));
  const bool from_corpus = Chance(rng, config_.corpus_share) && corpus_.size() > 0;
  if (!from_corpus && !Chance(rng, kFamilyShare)) {
    const DagGenerator& generator = OneOf(rng, DagGenerators(part_));
    return {generator.name, DrawDagOps(rng, generator, ops)};
  }
  const double piece = rng.Uniform();
  const bool cut = piece < kCutShare;
  const bool contracted = !cut && piece < kCutShare + kContractedShare;
  const auto whole_ops = cut || contracted ? static_cast<int32_t>(ops * rng.Uniform(1.5, 3)) : ops;
  Source source;
  if (from_corpus) {
    Corpus::Draw draw = corpus_.DrawOps(rng);
    source = {std::move(draw.name), std::move(draw.ops)};
  } else {
    const FamilyGenerator& generator = OneOf(rng, FamilyGenerators(part_));
    source = {generator.name, DrawFamilyOps(rng, generator, whole_ops, config_.min_ops, /*microbatches=*/!contracted)};
  }
  const bool too_large = std::ssize(source.ops) > config_.max_ops;
  if (contracted && std::ssize(source.ops) > ops) {
    source.name += "_contracted";
    source.ops = Contracted(rng, source.ops, ops);
  }
  if ((cut || too_large) && std::ssize(source.ops) > ops) {
    source.name += "_cut";
    source.ops = CutOut(rng, std::move(source.ops), ops);
  }
  return source;
}

Instance InstanceSource::Make(uint64_t number) const {
  const Rng root = root_.Fork("instance", number);
  Rng graph_rng = root.Fork("graph");
  Source source = DrawSource(graph_rng);
  Rng machine_rng = root.Fork("machine");
  RandomMachine machine = DrawMachine(machine_rng, config_.min_devices, config_.max_devices);
  Rng cost_rng = root.Fork("costs");
  DrawCosts(cost_rng, machine, source.ops);
  const std::string name = StrCat(NameOf(part_), "_", std::setw(6), std::setfill('0'), number, "_", source.name);
  Instance instance = {name, OpGraph(name, std::move(source.ops)), std::move(machine.cluster)};
  Rng memory_rng = root.Fork("memory");
  DrawMemory(memory_rng, instance.graph, instance.cluster);
  return instance;
}

std::vector<std::string> GeneratorNames(InstancePart part) {
  std::vector<std::string> names;
  for (const DagGenerator& generator : DagGenerators(part)) names.push_back(generator.name);
  for (const FamilyGenerator& generator : FamilyGenerators(part)) names.push_back(generator.name);
  return names;
}

PlacementTask TaskOf(const Instance& instance) {
  return PlacementTask::Make(instance.graph, instance.cluster, kDefaultMaxGroups);
}

}  // namespace emplace
