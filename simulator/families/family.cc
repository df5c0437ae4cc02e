#include "simulator/families/family.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/error.h"
#include "common/error_place.h"
#include "common/rng.h"
#include "common/strings.h"
#include "common/threads/thread_team.h"
#include "simulator/families/program/lower.h"
#include "simulator/families/workloads/amoebanet.h"
#include "simulator/families/workloads/cifar10.h"
#include "simulator/families/workloads/gnmt.h"
#include "simulator/families/workloads/inception_v3.h"
#include "simulator/families/workloads/nasnet.h"
#include "simulator/families/workloads/nmt.h"
#include "simulator/families/workloads/ptb.h"
#include "simulator/families/workloads/rnnlm.h"
#include "simulator/families/workloads/transformer_xl.h"
#include "simulator/families/workloads/wavenet.h"

namespace emplace {
namespace {

// The translation model of the Placeto talk's table: more than one GPU of 11 GB holds.
constexpr NmtModel kNmtSingle = {.layers = 4, .hidden = 1024, .batch = 256, .steps = 50, .vocabulary = 30000};

struct FamilyEntry {
  std::string name;
  std::function<Ranges(bool small)> ranges;  // None: a single network, which does not vary.
  std::function<TensorProgram(Rng& rng, const Ranges& ranges, const StepOptions& step)> sample;
};

FamilyEntry Network(const std::string& name, const std::function<TensorProgram(const StepOptions& step)>& build) {
  return {name, {}, [build](Rng&, const Ranges&, const StepOptions& step) { return build(step); }};
}

const std::vector<FamilyEntry>& Families() {
  static const std::vector<FamilyEntry> families = {
      {"ptb", PtbRanges,
       [](Rng& rng, const Ranges& in, const StepOptions& step) { return BuildPtb(SamplePtb(rng, in), step); }},
      {"cifar10", Cifar10Ranges,
       [](Rng& rng, const Ranges& in, const StepOptions& step) { return BuildCifar10(SampleCifar10(rng, in), step); }},
      {"nmt", NmtRanges,
       [](Rng& rng, const Ranges& in, const StepOptions& step) { return BuildNmt(SampleNmt(rng, in), step); }},
      {"rnnlm", RnnlmRanges,
       [](Rng& rng, const Ranges& in, const StepOptions& step) { return BuildRnnlm(SampleRnnlm(rng, in), step); }},
      {"gnmt", GnmtRanges,
       [](Rng& rng, const Ranges& in, const StepOptions& step) { return BuildGnmt(SampleGnmt(rng, in), step); }},
      Network("inception_v3", [](const StepOptions& step) { return BuildInceptionV3({}, step); }),
      Network("nasnet", [](const StepOptions& step) { return BuildNasnet({}, step); }),
      Network("nmt_single", [](const StepOptions& step) { return BuildNmt(kNmtSingle, step); }),
      // The networks of the SGDP paper. Those of RNNLM and GNMT are members of the families, with more steps.
      Network("rnnlm2", [](const StepOptions& step) { return BuildRnnlm({.layers = 2}, step); }),
      Network("rnnlm4", [](const StepOptions& step) { return BuildRnnlm({.layers = 4}, step); }),
      Network("rnnlm8", [](const StepOptions& step) { return BuildRnnlm({.layers = 8}, step); }),
      Network("gnmt2", [](const StepOptions& step) { return BuildGnmt({.layers = 2}, step); }),
      Network("gnmt4", [](const StepOptions& step) { return BuildGnmt({.layers = 4}, step); }),
      Network("gnmt8", [](const StepOptions& step) { return BuildGnmt({.layers = 8}, step); }),
      Network("txl2", [](const StepOptions& step) { return BuildTransformerXl({.layers = 2}, step); }),
      Network("txl4", [](const StepOptions& step) { return BuildTransformerXl({.layers = 4}, step); }),
      Network("txl8", [](const StepOptions& step) { return BuildTransformerXl({.layers = 8}, step); }),
      Network("wavenet2", [](const StepOptions& step) { return BuildWavenet({.stacks = 2}, step); }),
      Network("wavenet4", [](const StepOptions& step) { return BuildWavenet({.stacks = 4}, step); }),
      Network("amoebanet", [](const StepOptions& step) { return BuildAmoebanet({}, step); }),
  };
  return families;
}

const FamilyEntry& FindFamily(const std::string& name) {
  for (const FamilyEntry& entry : Families()) {
    if (entry.name == name) return entry;
  }
  throw BadInput(StrCat("unknown family '", name, "', expected one of: ", Join(FamilyNames(), ", ")));
}

ElementType FloatType(const std::string& dtype) {
  for (const ElementType type : {ElementType::kFloat32, ElementType::kFloat16}) {
    if (dtype == NameOf(type)) return type;
  }
  throw BadInput(StrCat("dtype is '", dtype, "', expected f32 or f16"));
}

std::vector<OpGraph> SampleGraphs(const FamilyEntry& family, const FamilyOptions& options, const std::string& stream,
                                  int64_t count, const std::vector<DeviceKind>& kinds) {
  const Rng root = Rng(options.seed).Fork(family.name + "/" + stream);
  const std::string prefix = stream.empty() ? family.name : family.name + "_" + stream;
  const StepOptions step = {
      .float_type = FloatType(options.dtype), .microbatches = options.microbatches, .runnable = options.calls};
  const Ranges ranges = RangesOf(options);
  return MakeOnAllCores(static_cast<size_t>(count), [&](size_t i) {
    Rng rng = root.Fork("graph", i);
    const std::string name =
        IsSingleNetwork(family.name) ? prefix : StrCat(prefix, "_", TwoDigits(static_cast<int64_t>(i)));
    return WithPlace("graph " + name, [&] { return Lower(name, family.sample(rng, ranges, step), kinds); });
  });
}

// The split does not depend on the seed of the graphs: graph 3 is a test graph in every family of 32.
void Split(const FamilyOptions& options, Family& family) {
  std::vector<size_t> order(static_cast<size_t>(options.count));
  std::iota(order.begin(), order.end(), size_t{0});
  Rng rng = Rng(20).Fork("split");
  Shuffle(rng, order);
  const auto middle = order.begin() + options.train;
  family.train.assign(order.begin(), middle);
  family.test.assign(middle, order.end());
  std::sort(family.train.begin(), family.train.end());
  std::sort(family.test.begin(), family.test.end());
}

}  // namespace

std::vector<std::string> FamilyNames() {
  std::vector<std::string> names;
  for (const FamilyEntry& entry : Families()) names.push_back(entry.name);
  return names;
}

bool IsSingleNetwork(const std::string& family) { return !FindFamily(family).ranges; }

Ranges RangesOf(const FamilyOptions& options) {
  if (options.size != "full" && options.size != "small") {
    throw BadInput(StrCat("size is '", options.size, "', expected full or small"));
  }
  const FamilyEntry& entry = FindFamily(options.family);
  if (!entry.ranges) {
    if (options.size != "full" || !options.ranges.empty()) {
      throw BadInput(StrCat(entry.name, " is a single network: expected neither a size nor ranges"));
    }
    return Ranges({});
  }
  Ranges ranges = entry.ranges(options.size == "small");
  for (const std::string& text : options.ranges) ranges.Override(text);
  return ranges;
}

Family GenerateFamily(const FamilyOptions& options, const std::vector<DeviceKind>& kinds) {
  const FamilyEntry& entry = FindFamily(options.family);
  if (options.count < 1) throw BadInput(StrCat("count is ", options.count, ", expected at least 1"));
  if (IsSingleNetwork(entry.name) && (options.count != 1 || options.validation != 0)) {
    throw BadInput(StrCat("count is ", options.count, " and validation ", options.validation,
                          ", expected 1 and 0: ", entry.name, " is a single network"));
  }
  if (options.train < 0 || options.train > options.count) {
    throw BadInput(StrCat("train is ", options.train, ", expected 0..", options.count));
  }
  if (options.validation < 0) throw BadInput(StrCat("validation is ", options.validation, ", expected at least 0"));
  Family family;
  family.graphs = SampleGraphs(entry, options, "", options.count, kinds);
  family.validation = SampleGraphs(entry, options, "validation", options.validation, kinds);
  Split(options, family);
  return family;
}

std::string SplitToJson(const FamilyOptions& options, const Family& family) {
  nlohmann::ordered_json json = {{"format", "emplace.split/1"},
                                 {"family", options.family},
                                 {"seed", options.seed},
                                 {"size", options.size},
                                 {"dtype", options.dtype},
                                 {"microbatches", options.microbatches},
                                 {"ranges", nlohmann::ordered_json::object()}};
  const Ranges drawn_from = RangesOf(options);
  for (const auto& [name, range] : drawn_from.ranges()) json["ranges"][name] = {range.low, range.high};
  const auto names = [&](const std::vector<size_t>& indices) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const size_t i : indices) list.push_back(family.graphs[i].name() + ".graph.json");
    return list;
  };
  json["train"] = names(family.train);
  json["test"] = names(family.test);
  json["validation"] = nlohmann::ordered_json::array();
  for (const OpGraph& graph : family.validation) json["validation"].push_back(graph.name() + ".graph.json");
  return json.dump(1) + "\n";
}

}  // namespace emplace
