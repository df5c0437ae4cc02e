#include "api/serving.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/error.h"
#include "common/strings.h"

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

// How the caches on one device grow with the context.
class Caches {
 public:
  // most_tokens: so many it keeps at most.
  void Add(double bytes_per_token, double most_tokens) { caches_.push_back({bytes_per_token, most_tokens}); }
  bool empty() const { return caches_.empty(); }
  double Bytes(double context) const {
    double bytes = 0;
    for (const auto& [bytes_per_token, most_tokens] : caches_)
      bytes += bytes_per_token * std::min(context, most_tokens);
    return bytes;
  }

 private:
  std::vector<std::pair<double, double>> caches_;
};

// An attribute of the op that is a number of at least 0; nullopt: it has none of this name.
std::optional<double> Number(const Op& op, const Json& attrs, const char* key, const char* expected) {
  const auto found = attrs.find(key);
  if (found == attrs.end()) return std::nullopt;
  if (!found->is_number() || found->get<double>() < 0) {
    throw BadInput(StrCat("op '", op.name, "': attrs.", key, " is ", Json(*found).dump(), ", expected ", expected));
  }
  return found->get<double>();
}

// [D]
std::vector<Caches> CachesOfDevices(const OpGraph& graph, const Placement& placement, size_t num_devices) {
  std::vector<Caches> caches(num_devices);
  for (OpIndex o = 0; o < graph.num_ops(); ++o) {
    if (graph.op(o).attrs_json.empty()) continue;
    const Json attrs = Json::parse(graph.op(o).attrs_json);
    const std::optional<double> bytes = Number(graph.op(o), attrs, "cache_bytes_per_token", "a number of bytes");
    if (!bytes || *bytes == 0) continue;
    caches[static_cast<size_t>(placement[static_cast<size_t>(o)])].Add(
        *bytes, Number(graph.op(o), attrs, "cache_most_tokens", "a number of tokens")
                    .value_or(std::numeric_limits<double>::infinity()));
  }
  return caches;
}

// The longest context, of `most` tokens at most, with which a device's memory is enough. room: bytes that it has left
// with the step's context, or lacks.
int64_t LongestContext(const Caches& caches, const ServedStep& step, double room, int64_t most) {
  if (caches.empty()) return room < 0 ? 0 : most;
  const auto context = static_cast<double>(step.context);
  const auto fits = [&](int64_t longer) {
    const auto tokens = static_cast<double>(longer);
    return caches.Bytes(tokens) - caches.Bytes(context) +
               static_cast<double>(step.room_bytes_per_token) * (tokens - context) <=
           room;
  };
  int64_t fitting = 0;
  for (int64_t above = most + 1; above - fitting > 1;) {
    const int64_t middle = fitting + (above - fitting) / 2;
    (fits(middle) ? fitting : above) = middle;
  }
  return fitting;
}

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

ServingFigures Serving(const OpGraph& graph, const Cluster& cluster, const ServedStep& step, const Placement& placement,
                       const std::vector<int64_t>& peak_bytes, double makespan_us, double max_load_us) {
  ServingFigures figures = {.step = step, .longest_context = std::max(step.context, step.most_context)};
  const double tokens = static_cast<double>(step.phase == Phase::kPrefill ? step.prompt : step.tokens);
  if (step.phase == Phase::kPrefill) {
    figures.first_token_s = makespan_us / kUsPerSecond;
  } else if (makespan_us > 0) {
    figures.stream_tokens_per_s = tokens * kUsPerSecond / makespan_us;
  }
  if (max_load_us > 0) {
    figures.pipeline_tokens_per_s = static_cast<double>(step.streams) * tokens * kUsPerSecond / max_load_us;
  }
  const std::vector<Caches> caches = CachesOfDevices(graph, placement, cluster.devices.size());
  for (size_t d = 0; d < caches.size(); ++d) {
    const auto room = static_cast<double>(cluster.devices[d].memory_bytes - peak_bytes[d]);
    const int64_t longest = LongestContext(caches[d], step, room, figures.longest_context);
    if (longest < figures.longest_context) {
      figures.longest_context = longest;
      figures.limited_by = cluster.devices[d].name;
    }
  }
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
