#include "api/serving.h"

#include <algorithm>
#include <nlohmann/json.hpp>

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

// Bytes by which the memory of each device grows with each token of context.
std::vector<double> BytesPerToken(const OpGraph& graph, const ServedStep& step, const Placement& placement,
                                  size_t num_devices) {
  std::vector<double> rate(num_devices, 0.0);
  for (OpIndex o = 0; o < graph.num_ops(); ++o) {
    if (graph.op(o).attrs_json.empty()) continue;
    const Json attrs = Json::parse(graph.op(o).attrs_json);
    const auto found = attrs.find("cache_bytes_per_token");
    if (found == attrs.end()) continue;
    if (!found->is_number() || found->get<double>() < 0) {
      throw BadInput(StrCat("op '", graph.op(o).name, "': attrs.cache_bytes_per_token is ", Json(*found).dump(),
                            ", expected a number of bytes"));
    }
    rate[static_cast<size_t>(placement[static_cast<size_t>(o)])] += found->get<double>();
  }
  for (double& bytes : rate) {
    if (bytes > 0) bytes += static_cast<double>(step.room_bytes_per_token);
  }
  return rate;
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
  const std::vector<double> rate = BytesPerToken(graph, step, placement, cluster.devices.size());
  for (size_t d = 0; d < rate.size(); ++d) {
    const auto room = static_cast<double>(cluster.devices[d].memory_bytes - peak_bytes[d]);
    double longest = static_cast<double>(figures.longest_context);
    if (rate[d] > 0) {
      longest = std::max(0.0, static_cast<double>(step.context) + room / rate[d]);
    } else if (room < 0) {
      longest = 0;
    }
    if (longest < static_cast<double>(figures.longest_context)) {
      figures.longest_context = static_cast<int64_t>(longest);
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
