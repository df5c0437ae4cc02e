#include "api/serving.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/engine/sim_graph.h"
#include "simulator/engine/simulator.h"

namespace emplace {
namespace {

using Json = nlohmann::json;
using Phase = ServedStep::Phase;

constexpr double kUsPerSecond = 1e6;

int64_t Count(const OpGraph& graph, const Json& llm, const char* key, int64_t least) {
  const auto found = llm.find(key);
  if (found == llm.end() || !found->is_number_integer() || found->get<int64_t>() < least) {
    throw BadInput(StrCat(graph.name(), ": meta.llm.", key, " is ",
                          found == llm.end() ? "missing" : Json(*found).dump(),
                          ", expected a whole number of at least ", least));
  }
  return found->get<int64_t>();
}

Phase PhaseOf(const OpGraph& graph, const Json& llm) {
  const auto found = llm.find("phase");
  const std::string name = found != llm.end() && found->is_string() ? found->get<std::string>() : "";
  if (name == "decode") return Phase::kDecode;
  if (name == "prefill") return Phase::kPrefill;
  if (name == "both") return Phase::kBoth;
  throw BadInput(StrCat(graph.name(), ": meta.llm.phase is '", name, "', expected decode, prefill or both"));
}

// An attribute of the op that is a number of at least 0; nullopt: it has none of this name.
std::optional<double> Number(const Op& op, const Json& attrs, const char* key, const char* expected) {
  const auto found = attrs.find(key);
  if (found == attrs.end()) return std::nullopt;
  if (!found->is_number() || found->get<double>() < 0) {
    throw BadInput(StrCat("op '", op.name, "': attrs.", key, " is ", Json(*found).dump(), ", expected ", expected));
  }
  return found->get<double>();
}

// By how many bytes an op needs more memory with each token of context.
struct Growth {
  double cache_bytes = 0;                                        // Of what is held for the whole step.
  double room_bytes = 0;                                         // Of what it needs while it runs.
  double most_tokens = std::numeric_limits<double>::infinity();  // From these on it needs no more.
};

// [n]
std::vector<Growth> GrowthOf(const OpGraph& graph, const ServedStep& step) {
  std::vector<Growth> growth(static_cast<size_t>(graph.num_ops()));
  for (OpIndex o = 0; o < graph.num_ops(); ++o) {
    const Op& op = graph.op(o);
    Growth& own = growth[static_cast<size_t>(o)];
    if (op.temp_bytes > 0) own.room_bytes = static_cast<double>(step.room_bytes_per_token);
    if (op.attrs_json.empty()) continue;
    const Json attrs = Json::parse(op.attrs_json);
    own.cache_bytes = Number(op, attrs, "cache_bytes_per_token", "a number of bytes").value_or(own.cache_bytes);
    own.room_bytes = Number(op, attrs, "room_bytes_per_token", "a number of bytes").value_or(own.room_bytes);
    own.most_tokens = Number(op, attrs, "cache_most_tokens", "a number of tokens").value_or(own.most_tokens);
  }
  return growth;
}

// The memory that a placement needs, by the tokens of context. REQUIRES: what it is made of outlives it.
class MemoryByContext {
 public:
  MemoryByContext(const OpGraph& graph, const Cluster& cluster, const ServedStep& step, const Placement& placement,
                  const DeviceOrders& orders, const std::vector<int64_t>& peak_bytes)
      : sim_(SimGraph::Compile(graph, cluster)),
        growth_(GrowthOf(graph, step)),
        context_(step.context),
        placement_(placement),
        orders_(orders),
        peak_bytes_(peak_bytes) {}

  // The longest context of at most `most` tokens that fits, and the first device that has no room for a longer one.
  std::pair<int64_t, std::optional<size_t>> Longest(int64_t most) const {
    const auto least_full = [&](int64_t tokens) { return Full(Bounds(tokens).least); };
    const auto most_full = [&](int64_t tokens) { return Full(Bounds(tokens).most); };
    const auto full = [&](int64_t tokens) { return Full(Simulated(tokens)); };
    const int64_t certain = LongestBetween(0, most, most_full);
    const int64_t possible = LongestBetween(certain, most, least_full);
    const int64_t longest = LongestBetween(certain, possible, full);
    if (longest == most) return {most, std::nullopt};
    return {longest, longest == possible ? least_full(longest + 1) : full(longest + 1)};
  }

 private:
  struct Peaks {
    std::vector<double> least, most;  // [D] each
  };

  // fits: a context that does, or 0.
  template <typename FullDevice>
  static int64_t LongestBetween(int64_t fits, int64_t most, const FullDevice& full) {
    for (int64_t above = most + 1; above - fits > 1;) {
      const int64_t middle = fits + (above - fits) / 2;
      (full(middle) ? above : fits) = middle;
    }
    return fits;
  }

  // The first device whose memory is less than its peak [D].
  template <typename Bytes>
  std::optional<size_t> Full(const std::vector<Bytes>& peaks) const {
    for (size_t d = 0; d < peaks.size(); ++d) {
      if (peaks[d] > static_cast<Bytes>(sim_.memory_bytes[d])) return d;
    }
    return std::nullopt;
  }

  // How many tokens an op's memory grows by.
  double More(const Growth& growth, int64_t tokens) const {
    return std::min(static_cast<double>(tokens), growth.most_tokens) -
           std::min(static_cast<double>(context_), growth.most_tokens);
  }

  // Between which the peaks [D] are, whichever op each of them is at.
  Peaks Bounds(int64_t tokens) const {
    const size_t devices = peak_bytes_.size();
    std::vector<double> cache(devices, 0), least(devices, kUnknown), most(devices, -kUnknown);
    for (size_t o = 0; o < growth_.size(); ++o) {
      const auto d = static_cast<size_t>(placement_[o]);
      const double more = More(growth_[o], tokens);
      cache[d] += growth_[o].cache_bytes * more;
      least[d] = std::min(least[d], growth_[o].room_bytes * more);
      most[d] = std::max(most[d], growth_[o].room_bytes * more);
    }
    Peaks peaks;
    for (size_t d = 0; d < devices; ++d) {
      const double held = static_cast<double>(peak_bytes_[d]) + cache[d];
      const bool used = least[d] < kUnknown;
      peaks.least.push_back(held + (used ? least[d] : 0));
      peaks.most.push_back(held + (used ? most[d] : 0));
    }
    return peaks;
  }

  // The peaks [D] of the step with that context; its times stay those of the graph.
  std::vector<int64_t> Simulated(int64_t tokens) const {
    SimGraph sim = sim_;
    for (size_t o = 0; o < growth_.size(); ++o) {
      const double more = More(growth_[o], tokens);
      const auto grow = [](int64_t& bytes, double by) {
        bytes = std::llround(std::clamp(static_cast<double>(bytes) + by, 0.0, kMostBytes));
      };
      grow(sim.param_bytes[o], growth_[o].cache_bytes * more);
      grow(sim.temp_bytes[o], growth_[o].room_bytes * more);
    }
    std::vector<int64_t> peaks(peak_bytes_.size());
    Simulator(sim, orders_).MakespanAndPeak(placement_, peaks);
    return peaks;
  }

  static constexpr double kUnknown = std::numeric_limits<double>::infinity();
  static constexpr double kMostBytes = 1e15;  // Of an op: more than any device has, and far from what overflows.

  const SimGraph sim_;
  const std::vector<Growth> growth_;  // [n]
  const int64_t context_;
  const Placement& placement_;
  const DeviceOrders& orders_;
  const std::vector<int64_t>& peak_bytes_;  // [D] with context_
};

}  // namespace

std::optional<ServedStep> ServedStepOf(const OpGraph& graph) {
  if (graph.meta_json().empty()) return std::nullopt;
  const Json meta = Json::parse(graph.meta_json());
  const auto llm = meta.find("llm");
  if (llm == meta.end()) return std::nullopt;
  if (!llm->is_object()) throw BadInput(StrCat(graph.name(), ": meta.llm is ", llm->dump(), ", expected an object"));
  ServedStep step = {.phase = PhaseOf(graph, *llm),
                     .streams = Count(graph, *llm, "streams", 1),
                     .context = Count(graph, *llm, "context", 1),
                     .most_context = Count(graph, *llm, "most_context", 1)};
  if (llm->contains("room_bytes_per_token")) step.room_bytes_per_token = Count(graph, *llm, "room_bytes_per_token", 0);
  if (step.phase != Phase::kDecode) step.prompt = Count(graph, *llm, "prompt", 1);
  if (step.phase != Phase::kPrefill) step.tokens = Count(graph, *llm, "tokens", 1);
  return step;
}

void CheckServed(const OpGraph& graph) {
  if (const std::optional<ServedStep> step = ServedStepOf(graph)) GrowthOf(graph, *step);
}

ServingFigures Serving(const OpGraph& graph, const Cluster& cluster, const ServedStep& step, const Placement& placement,
                       const std::vector<int64_t>& peak_bytes, double makespan_us, double max_load_us,
                       const DeviceOrders& orders) {
  ServingFigures figures = {.step = step};
  const double tokens = static_cast<double>(step.phase == Phase::kPrefill ? step.prompt : step.tokens);
  if (step.phase == Phase::kPrefill) {
    figures.first_token_s = makespan_us / kUsPerSecond;
  } else if (makespan_us > 0) {
    figures.stream_tokens_per_s = tokens * kUsPerSecond / makespan_us;
  }
  // Steps that follow each other without an overlap are no slower than this.
  const double from_step_to_step_us = std::min(max_load_us, makespan_us);
  if (from_step_to_step_us > 0) {
    figures.pipeline_tokens_per_s = static_cast<double>(step.streams) * tokens * kUsPerSecond / from_step_to_step_us;
  }
  const MemoryByContext memory(graph, cluster, step, placement, orders, peak_bytes);
  const auto [longest, full] = memory.Longest(std::max(step.context, step.most_context));
  figures.longest_context = longest;
  if (full) figures.limited_by = cluster.devices[*full].name;
  return figures;
}

std::string ShownServing(const ServingFigures& figures, const std::string& indent) {
  const ServedStep& step = figures.step;
  std::string text;
  if (step.phase == Phase::kPrefill) {
    text += Format("%sfirst token          %.3f s after a prompt of %lld tokens\n", indent.c_str(),
                   figures.first_token_s, static_cast<long long>(step.prompt));
    text += Format("%sprompts              up to %.1f tokens/s in all, as a pipeline\n", indent.c_str(),
                   figures.pipeline_tokens_per_s);
  } else {
    text += Format("%sone stream           %.2f tokens/s%s\n", indent.c_str(), figures.stream_tokens_per_s,
                   step.phase == Phase::kBoth ? ", the time of its prompt included" : "");
    text +=
        Format("%smany streams         up to %.2f tokens/s in all, in batches of %lld, one in each stage at a time\n",
               indent.c_str(), figures.pipeline_tokens_per_s, static_cast<long long>(step.streams));
  }
  text += Format("%slongest context      %lld tokens, limited by %s\n", indent.c_str(),
                 static_cast<long long>(figures.longest_context),
                 figures.limited_by.empty() ? "the model" : ("the memory of " + figures.limited_by).c_str());
  return text;
}

}  // namespace emplace
